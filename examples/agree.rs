#![allow(missing_docs)]
use panza::machine::{Machine, PlayoutEnd, Tally, random::Random};
use panza::{ground, player};
use std::sync::Arc;
use std::time::{Duration, Instant};
fn me(v: &[f64]) -> (f64, f64) {
    let n = v.len() as f64;
    let m = v.iter().sum::<f64>() / n;
    (
        m,
        (v.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt(),
    )
}
fn main() {
    let mut args = std::env::args().skip(1);
    let secs: f64 = args.next().unwrap().parse().unwrap();
    let mut zs = Vec::new();
    for path in args {
        let text = std::fs::read_to_string(&path).unwrap();
        let (rules, _) = panza::gdl::load(&text);
        let limits = ground::Budget {
            until: Some(Instant::now() + Duration::from_secs(120)),
            max_bytes: 4 << 30,
        };
        let c = player::compile(&rules, limits).unwrap();
        let counter = Arc::new(c.machine);
        let Some(lanes) = player::compile_lanes(counter.clone(), &c.lanes, limits, 8) else {
            println!("{path} none");
            continue;
        };
        let lanes = Arc::new(lanes);
        let initial = counter.initial_state();
        let nr = counter.n_roles();
        let mut gang = lanes.clone().playouts(&mut Random::new(7), 10000).unwrap();
        let mut rows: Vec<Vec<f64>> = vec![];
        let mut n = 0u64;
        let mut cut = 0;
        let mut tally = Tally::default();
        let t = Instant::now();
        let mut submitted = 0u64;
        // requests submitted in order, all answered: no bias by length
        while n < submitted || (submitted < 1_000_000 && t.elapsed().as_secs_f64() < 4.0 * secs) {
            while gang.n_wanted() < 2048
                && submitted < 1_000_000
                && t.elapsed().as_secs_f64() < 4.0 * secs
            {
                gang.submit(&initial, 500).unwrap();
                submitted += 500;
            }
            gang.advance();
            while gang.take_done(&mut tally).is_some() {
                n += tally.playouts as u64;
                cut += tally.cut_off;
                let mut r: Vec<f64> = tally
                    .totals
                    .iter()
                    .map(|&x| x as f64 / tally.playouts as f64)
                    .collect();
                r.push(tally.steps as f64 / tally.playouts as f64);
                rows.push(r);
            }
        }
        let mut re = counter.clone().reasoner();
        let mut random = Random::new(99);
        let mut goals = vec![0; nr];
        let mut crow: Vec<Vec<f64>> = vec![];
        let t = Instant::now();
        while t.elapsed().as_secs_f64() < secs && crow.len() < 1_000_000 {
            re.set_state(&initial);
            if let PlayoutEnd::Finished { steps } = re.playout(&mut random, 10000, &mut goals) {
                let mut r: Vec<f64> = goals.iter().map(|&g| g as f64).collect();
                r.push(steps as f64);
                crow.push(r);
            }
        }
        let mut worst: f64 = 0.0;
        let mut desc = String::new();
        for k in 0..=nr {
            let (a, ea) = me(&rows.iter().map(|r| r[k]).collect::<Vec<_>>());
            let (b, eb) = me(&crow.iter().map(|r| r[k]).collect::<Vec<_>>());
            let e = (ea * ea + eb * eb).sqrt();
            let z = if e > 0.0 {
                (a - b) / e
            } else if (a - b).abs() < 1e-9 {
                0.0
            } else {
                99.0
            };
            worst = worst.max(z.abs());
            zs.push(z.abs());
            desc += &format!(" {a:.3}/{b:.3}({z:+.2})");
        }
        println!(
            "{:24} lanes {n} (cut {cut}) counter {} worst {worst:.2} {desc}",
            path.rsplit('/').next().unwrap(),
            crow.len()
        );
    }
    zs.sort_by(|a, b| a.total_cmp(b));
    println!(
        "figures {} median |z| {:.2} max {:.2} above 3: {}",
        zs.len(),
        zs[zs.len() / 2],
        zs[zs.len() - 1],
        zs.iter().filter(|z| **z > 3.0).count()
    );
}
