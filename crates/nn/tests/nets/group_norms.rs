//! Group norm and instance norm.

use tove_nn::{GroupNorm, InstanceNorm2d, Layer, ModuleExt, Pass};
use tove_tensor::{DType, Key, Tensor};

use crate::support::{agrees, case};

fn both_phases() -> [Pass; 2] {
    [Pass::train(Key::new(0)), Pass::eval()]
}

fn names(layer: &impl Layer) -> Vec<String> {
    layer.named_parameters().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn group_norm_equals_pytorch_in_both_phases() {
    for pass in both_phases() {
        agrees(&mut GroupNorm::new(3, 6).unwrap(), case("group norm"), &pass);
        agrees(&mut GroupNorm::new(3, 6).unwrap(), case("group norm of rows"), &pass);
    }
}

#[test]
fn instance_norm_equals_pytorch_in_both_phases() {
    for pass in both_phases() {
        agrees(&mut InstanceNorm2d::new(3), case("instance norm"), &pass);
        agrees(&mut InstanceNorm2d::affine(3), case("instance norm affine"), &pass);
    }
}

#[test]
fn parameters_have_pytorchs_names() {
    assert_eq!(names(&GroupNorm::new(2, 4).unwrap()), ["weight", "bias"]);
    assert_eq!(names(&InstanceNorm2d::affine(4)), ["weight", "bias"]);
    assert!(names(&InstanceNorm2d::new(4)).is_empty());
}

#[test]
fn a_sample_does_not_feel_its_batch_mates() {
    let x = Key::new(1).normal([5, 4, 3, 3], DType::F32);
    let layers: [Box<dyn Layer>; 2] = [Box::new(GroupNorm::new(2, 4).unwrap()), Box::new(InstanceNorm2d::affine(4))];
    for layer in layers {
        let all = layer.forward(&x, &Pass::eval()).unwrap();
        for sample in 0..5 {
            let alone = layer.forward(&x.narrow(0, sample, 1), &Pass::eval()).unwrap();
            assert_eq!(alone.to_vec::<f32>(), all.narrow(0, sample, 1).to_vec::<f32>());
        }
    }
}

#[test]
fn mistakes_are_named() {
    let message = GroupNorm::new(4, 6).unwrap_err().to_string();
    assert!(message.contains("GroupNorm") && message.contains("does not divide 6 channels"), "{message}");
    assert!(GroupNorm::new(0, 6).is_err());
    let refused = |layer: &dyn Layer, shape: &[usize], word: &str| {
        let message = layer.forward(&Tensor::ones(shape, DType::F32), &Pass::eval()).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    };
    refused(&GroupNorm::new(2, 4).unwrap(), &[3, 6], "4 channels");
    refused(&InstanceNorm2d::new(4), &[3, 5, 2, 2], "4 channels");
    refused(&InstanceNorm2d::new(4), &[3, 4, 1, 1], "no variance");
    refused(&InstanceNorm2d::new(4), &[3, 4, 8], "height");
}
