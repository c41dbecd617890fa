/* A 4-bit precision as a run-time module: lp-precision-int4-demo.so, found by the name "int4-demo".
 *
 * The weights of linear layers are stored in a dtype of their own, blocks of 32 with a scale. The optimizer keeps
 * float32 latent weights and encodes them after each step, and gradients pass straight through the encoding. */

public class Int4DType : Lp.DType {
    const int BLOCK = 32;
    const int BYTES = 20;   /* 32 codes of 4 bits, and a float32 scale */

    public Int4DType () {
        Object (name: "int4-block32", bits: 4, block_size: BLOCK);
    }

    static int64 blocks_of (int64 row) {
        return (row + BLOCK - 1) / BLOCK;
    }

    public override int64 get_encoded_size (Lp.Shape shape) {
        var row = shape.get_dim (-1);
        return row > 0 ? shape.get_n_elements () / row * blocks_of (row) * BYTES : 0;
    }

    public override Bytes encode (Bytes values, Lp.Shape shape, int axis) throws Error {
        var row = shape.get_dim (-1);
        var blocks = blocks_of (row);
        var result = new uint8[get_encoded_size (shape)];
        unowned float[] floats = (float[]) values.get_data ();

        for (int64 b = 0; b < result.length / BYTES; b++) {
            var first = b / blocks * row + b % blocks * BLOCK;
            encode_block ((float*) floats + first, (int) int64.min (BLOCK, row - b % blocks * BLOCK),
                          (uint8*) result + b * BYTES);
        }
        return new Bytes.take ((owned) result);
    }

    static void encode_block (float* values, int n, uint8* block) {
        float largest = 0;
        for (var i = 0; i < n; i++)
            largest = float.max (largest, values[i].abs ());

        var scale = largest / 7;
        *((float*) block) = scale;
        for (var i = 0; i < n; i++) {
            var code = scale > 0 ? (int) Math.rintf (values[i] / scale) + 8 : 8;
            block[4 + i / 2] |= (uint8) (code << 4 * (i % 2));
        }
    }

    public override Bytes decode (Bytes data, Lp.Shape shape, int axis, int64 first_block, int64 n_blocks)
        throws Error {
        var row = shape.get_dim (-1);
        var blocks = blocks_of (row);
        var floats = new float[n_blocks * BLOCK];
        uint8* bytes = data.get_data ();
        var at = 0;

        for (var b = first_block; b < first_block + n_blocks; b++) {
            uint8* block = bytes + b * BYTES;
            var scale = *((float*) block);
            var n = (int) int64.min (BLOCK, row - b % blocks * BLOCK);
            for (var i = 0; i < n; i++)
                floats[at++] = scale * ((block[4 + i / 2] >> 4 * (i % 2) & 15) - 8);
        }
        unowned uint8[] result = (uint8[]) floats;
        return new Bytes (result[0 : at * 4]);
    }
}

public class Int4Plugin : Lp.PrecisionPlugin {
    Lp.DType dtype = new Int4DType ();

    public override bool convert_module (Lp.Module module) throws Error {
        foreach (unowned var path in module.dup_module_names ()) {
            if (!(module.lookup_child (path) is Lp.Linear))
                continue;
            var name = path + ".weight";
            var weight = module.lookup_parameter (name);
            var encoded = weight.detach ().to_dtype (dtype);
            encoded.set_requires_grad (weight.get_requires_grad ());
            module.set_parameter (name, encoded);
        }
        return true;
    }

    public override Lp.PrecisionTraits dup_traits () throws Error {
        return new Lp.PrecisionTraits (dtype.name, "f32", "f32", "f32", "f32");
    }
}

[CCode (cname = "lp_module_abi")]
public uint module_abi () {
    return Lp.MODULE_ABI;
}

[CCode (cname = "lp_module_precision_int4_demo_register")]
public bool register (Lp.Registry registry) throws Error {
    return registry.add (new Lp.RegistryEntry ("int4-demo", typeof (Int4Plugin), null,
                                               "linear weights in 4 bits, blocks of 32, trained straight through"));
}
