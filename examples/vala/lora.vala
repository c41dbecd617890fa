/* A trained net goes on in 4 bits:
 *   lora [PRECISION [EPOCHS [SEED [FOLDER [PART [TUNING_EPOCHS]]]]]]
 * The net of fashion-mnist.vala is trained in 32-true; its linear layers get adapters and are stored as PRECISION says, nf4 unless
 * told; then the adapters are trained. PART is the share of the training batches that is used, 1 for all. */

class FashionNet : Lp.Model {
    Lp.Sequential layers;

    public FashionNet () throws Error {
        Lp.Module[] list = {
            new Lp.Conv2d.full (1, 16, 5, 2, 2, 1, 1, true), new Lp.ReLU (),
            new Lp.Conv2d.full (16, 32, 3, 1, 1, 1, 1, true), new Lp.ReLU (), new Lp.MaxPool2d (2),
            new Lp.Flatten (), new Lp.Linear (32 * 7 * 7, 128), new Lp.ReLU (), new Lp.Linear (128, 10),
        };
        layers = new Lp.Sequential ();
        foreach (var layer in list)
            layers.append (layer);
        register_child ("layers", layers);
    }

    public override Lp.Tensor? training_step (Lp.Batch batch, int64 batch_idx) throws Error {
        return layers.forward (batch.get_tensor (0)).cross_entropy (batch.get_tensor (1));
    }

    public override Lp.Tensor? test_step (Lp.Batch batch, int64 batch_idx) throws Error {
        var hits = layers.forward (batch.get_tensor (0)).argmax (1).equal (batch.get_tensor (1));
        var accuracy = hits.mean (null, false);
        log_tensor ("accuracy", accuracy, ON_EPOCH);
        return accuracy;
    }

    /* The adapters, if there are some. */
    public override Object configure_optimizers () throws Error {
        var adapters = Lp.LoraLinear.dup_adapters (this);
        var optimizer = new Lp.AdamW (adapters.length > 0 ? adapters : dup_parameters (), 2e-3);
        var config = new Lp.OptimizerConfig ();
        config.add_optimizer (optimizer);
        config.add_scheduler (new Lp.CosineLr (optimizer, get_trainer ().get_estimated_stepping_batches (), 0), 1);
        return config;
    }
}

Lp.DataLoader load (string folder, string part, int64 batch_size, bool shuffle) throws Error {
    var images = Lp.load_idx (@"$folder/$part-images-idx3-ubyte.gz").to_dtype (Lp.DType.f32 ()).scale (1 / 255.0);
    var labels = Lp.load_idx (@"$folder/$part-labels-idx1-ubyte.gz").to_dtype (Lp.DType.i64 ());
    return new Lp.DataLoader (new Lp.TensorDataset.pair (images.unsqueeze (1), labels), batch_size, shuffle);
}

Lp.Trainer trainer_for (string precision, int epochs, double part) throws Error {
    var trainer = new Lp.Trainer (precision);
    trainer.max_epochs = epochs;
    trainer.limit_train_batches = part;
    trainer.enable_checkpointing = false;
    return trainer;
}

double test (Lp.Trainer trainer, Lp.Model model, Lp.DataLoader loader) throws Error {
    return trainer.test (model, loader, null).lookup_value ("accuracy", VariantType.DOUBLE).get_double ();
}

void run (string precision, int epochs, uint64 seed, string folder, double part, int tuning_epochs) throws Error {
    var trainer = trainer_for ("32-true", epochs, part);
    var tuner = trainer_for (precision, tuning_epochs, part);
    var train = load (folder, "train", 128, true);
    var held_back = load (folder, "t10k", 500, false);

    Lp.seed_everything (seed);
    var model = new FashionNet ();
    trainer.fit (model, train, null, null);
    var trained = test (trainer, model, held_back);

    var plain_bytes = model.lookup_parameter ("layers.6.weight").get_n_bytes ();
    Lp.LoraLinear.adapt (model, null, 16, 32, 0);
    var stored = test (tuner, model, held_back);
    tuner.fit (model, train, null, null);
    var tuned = test (tuner, model, held_back);

    var weight = model.lookup_parameter ("layers.6.base.weight");
    var adapters = model.lookup_parameter ("layers.6.lora_a").get_n_bytes () + model.lookup_parameter ("layers.6.lora_b").get_n_bytes ();
    print ("storage=%s bytes=%s of=%s adapters=%s trained=%.4f stored=%.4f tuned=%.4f\n", weight.get_dtype ().get_name (),
           weight.get_n_bytes ().to_string (), plain_bytes.to_string (), adapters.to_string (), trained, stored, tuned);
}

int main (string[] args) {
    try {
        run (args.length > 1 ? args[1] : "nf4", args.length > 2 ? int.parse (args[2]) : 6,
             args.length > 3 ? uint64.parse (args[3]) : 1,
             args.length > 4 ? args[4] : "/usr/share/datasets/fashion-mnist",
             args.length > 5 ? double.parse (args[5]) : 1,
             args.length > 6 ? int.parse (args[6]) : 2);
        return 0;
    } catch (Error error) {
        printerr ("lora: %s\n", error.message);
        return 1;
    }
}
