/* A convolutional net on Fashion-MNIST, in any precision:
 *   fashion-mnist [PRECISION [EPOCHS [SEED [FOLDER [PART]]]]]
 * PART is the share of the training batches that is used, 1 for all. */

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
        var logits = layers.forward (batch.get_tensor (0));
        var loss = logits.cross_entropy (batch.get_tensor (1));
        log_tensor ("loss", loss, ON_EPOCH | PROG_BAR);
        return loss;
    }

    public override Lp.Tensor? validation_step (Lp.Batch batch, int64 batch_idx) throws Error {
        var logits = layers.forward (batch.get_tensor (0));
        var hits = logits.argmax (1).equal (batch.get_tensor (1));
        var accuracy = hits.mean (null, false);
        log_tensor ("accuracy", accuracy, ON_EPOCH | PROG_BAR);
        return accuracy;
    }

    public override Lp.Tensor? test_step (Lp.Batch batch, int64 batch_idx) throws Error {
        return validation_step (batch, batch_idx);
    }

    public override Object configure_optimizers () throws Error {
        var optimizer = new Lp.AdamW (dup_parameters (), 2e-3);
        var config = new Lp.OptimizerConfig ();
        config.add_optimizer (optimizer);
        config.add_scheduler (new Lp.CosineLr (optimizer, get_trainer ().get_estimated_stepping_batches (), 0), 1);
        return config;
    }
}

Lp.Dataset load (string folder, string part) throws Error {
    var images = Lp.load_idx (@"$folder/$part-images-idx3-ubyte.gz").to_dtype (Lp.DType.f32 ()).scale (1 / 255.0);
    var labels = Lp.load_idx (@"$folder/$part-labels-idx1-ubyte.gz").to_dtype (Lp.DType.i64 ());
    return new Lp.TensorDataset.pair (images.unsqueeze (1), labels);
}

void run (string precision, int epochs, uint64 seed, string folder, double part) throws Error {
    var trainer = new Lp.Trainer (precision);
    trainer.max_epochs = epochs;
    trainer.limit_train_batches = part;
    trainer.enable_checkpointing = false;
    trainer.add_logger (new Lp.CsvLogger (".", "fashion-mnist", precision));

    var parts = load (folder, "train").split ({ 55000, 5000 }, 0);
    var train_loader = new Lp.DataLoader (parts[0], 128, true);
    var val_loader = new Lp.DataLoader (parts[1], 500, false);
    var test_loader = new Lp.DataLoader (load (folder, "t10k"), 500, false);

    Lp.seed_everything (seed);
    var model = new FashionNet ();
    var timer = new Timer ();
    trainer.fit (model, train_loader, val_loader, null);
    var seconds = timer.elapsed () / epochs;
    var accuracy = trainer.test (model, test_loader, null).lookup_value ("accuracy", VariantType.DOUBLE).get_double ();

    var weight = model.lookup_parameter ("layers.6.weight");
    print ("plugin=%s trainer=%s storage=%s bytes=%s accuracy=%.4f seconds=%.2f\n",
           trainer.dup_precision_plugin ().dup_precision (), trainer.dup_precision (), weight.get_dtype ().get_name (),
           weight.get_n_bytes ().to_string (), accuracy, seconds);
}

int main (string[] args) {
    try {
        run (args.length > 1 ? args[1] : "32-true", args.length > 2 ? int.parse (args[2]) : 6,
             args.length > 3 ? uint64.parse (args[3]) : 1,
             args.length > 4 ? args[4] : "/usr/share/datasets/fashion-mnist",
             args.length > 5 ? double.parse (args[5]) : 1);
        return 0;
    } catch (Error error) {
        printerr ("fashion-mnist: %s\n", error.message);
        return 1;
    }
}
