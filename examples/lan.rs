#![allow(missing_docs)]
use panza::analysis::control;
use panza::machine::lanes::{compile, gang::Layout, interpret::Features};
use panza::machine::{
    Machine, Tally, compile::Layout as L0, counter::CounterMachine, random::Random,
};
use panza::propnet::passes;
use panza::{ground, propnet};
use std::sync::Arc;
use std::time::{Duration, Instant};
fn cpu() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}
fn main() {
    let mut args = std::env::args().skip(1);
    let width: usize = args.next().unwrap().parse().unwrap();
    let secs: f64 = args.next().unwrap().parse().unwrap();
    for path in args {
        let text = std::fs::read_to_string(&path).unwrap();
        let t0 = Instant::now();
        let (rules, _) = panza::gdl::load(&text);
        let limits = ground::Budget {
            until: Some(Instant::now() + Duration::from_secs(120)),
            max_bytes: 4 << 30,
        };
        let program = ground::ground(&rules, limits).unwrap();
        let network = propnet::build(&program, limits).unwrap();
        let set = passes::PassSet::default();
        let network = passes::optimise_with(network, &set, limits);
        let t1 = t0.elapsed();
        let machine: Arc<dyn Machine> = Arc::new(CounterMachine::new(L0::compile(&network)));
        let size = network.gates.len() + network.n_edges();
        let found = control::candidates(
            &network,
            &machine,
            control::PlayBudget::for_size(size, None),
        );
        let played = &found.played[..found.played.len().min(48)];
        let shortlist = propnet::shortlist(&network, &found.candidates, played);
        let t2 = t0.elapsed();
        let mut best: Option<(usize, compile::Programs)> = None;
        let mut consider = |p: Option<compile::Programs>| {
            if let Some(p) = p {
                let w = p.phases.iter().map(|p| p.n_operations()).sum::<usize>() / p.phases.len();
                if best.as_ref().is_none_or(|b| w < b.0) {
                    best = Some((w, p));
                }
            }
        };
        consider(compile::compile(&network, None, 40.0));
        for c in shortlist {
            if let Some(ph) = propnet::phases_of(&network, c, &set, limits) {
                consider(compile::compile(&network, Some(&ph), 40.0));
            }
        }
        let Some((work, programs)) = best else {
            println!("{path} too large");
            continue;
        };
        let t3 = t0.elapsed();
        let layout = Arc::new(Layout::new(
            &programs,
            network.roles.len(),
            if std::env::var("PORT").is_ok() {
                Features::Portable
            } else {
                Features::detect()
            },
            width / 64,
        ));
        let t4 = t0.elapsed();
        let mut gang = layout.gang(&mut Random::new(1), 10000);
        let initial = machine.initial_state();
        let mut tally = Tally::default();
        let (mut n, mut steps, mut goals) = (0u64, 0u64, vec![0u64; network.roles.len()]);
        let start = cpu();
        let mut rounds = 0u64;
        loop {
            while gang.n_wanted() < 2 * width as u64 {
                gang.submit(&initial, width as u32).unwrap();
            }
            for _ in 0..64 {
                gang.advance();
            }
            rounds += 64;
            while gang.take_done(&mut tally).is_some() {
                n += tally.playouts as u64;
                steps += tally.steps;
                for (g, t) in goals.iter_mut().zip(&tally.totals) {
                    *g += t;
                }
            }
            if cpu() - start > secs {
                break;
            }
        }
        let el = cpu() - start;
        let name = path.rsplit('/').next().unwrap();
        let p = &programs.phases[0];
        println!(
            "{name:24} {:>12.0}/s len {:.2} goals {:?} us/pass {:.3} phases {} work {work} look {} step {} end {} goalops {} net {:.2}s cand {:.2} comp {:.2} lay {:.2}",
            n as f64 / el,
            steps as f64 / n as f64,
            goals
                .iter()
                .map(|&g| (g as f64 / n as f64 * 100.0).round() / 100.0)
                .collect::<Vec<_>>(),
            el / rounds as f64 * 1e6,
            programs.phases.len(),
            compile::n_operations(&p.look),
            compile::n_operations(&p.step),
            p.end.as_deref().map_or(0, compile::n_operations),
            compile::n_operations(&programs.goals.piece),
            t1.as_secs_f64(),
            (t2 - t1).as_secs_f64(),
            (t3 - t2).as_secs_f64(),
            (t4 - t3).as_secs_f64()
        );
    }
}
