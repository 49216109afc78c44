//! XOR with a small net: no line separates the classes, one hidden layer does. Reaches all four points.

use tove::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let xor = data::sets::xor()?;
    let mut net = Mlp::new(&[2, 8, 2], &mut Rng::new(1));
    let mut trainer = Trainer::new(Adam::new(0.05)).epochs(200).batch_size(4).evaluate_every(100);
    let report = trainer.fit(&mut net, &Classification::new(), &xor, Some(&xor))?;
    println!("{report}");
    assert_eq!(report.score("accuracy"), Some(1.0));
    Ok(())
}
