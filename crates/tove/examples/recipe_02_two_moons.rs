//! Two moons: 98 % of unseen points right after a second.

use tove::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let train = data::sets::two_moons(1000, 0.1, Key::new(1))?;
    let test = data::sets::two_moons(1000, 0.1, Key::new(2))?;
    let mut net = Mlp::new(&[2, 32, 32, 2], &mut Rng::new(0));
    let report = Trainer::new(Adam::new(0.01)).epochs(30).fit(&mut net, &Classification::new(), &train, Some(&test))?;
    println!("{report}");
    assert!(report.score("accuracy") > Some(0.98));
    Ok(())
}
