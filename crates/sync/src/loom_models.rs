//! Models of the ring, the table, claims and waiting: every interleaving, not one lucky run.
//!
//! They are kept to two or three threads and a handful of operations, since the
//! number of interleavings grows with the product; so small, all of them
//! together need about a second without any bound on preemptions.

use super::claims::Claims;
use super::ring::ring;
use super::stop::{StopFlag, Waited};
use super::table::Table;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

/// Adds one to its counter when dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn fill_until_full_while_the_other_end_pops() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring::<usize>(2);
        let filler =
            thread::spawn(move || (0..3).take_while(|&n| producer.push(n).is_ok()).count());
        let mut popped = 0;
        for _ in 0..2 {
            if let Some(item) = consumer.pop() {
                assert_eq!(item, popped);
                popped += 1;
            }
        }
        let pushed = filler.join().unwrap();
        // Two always fit; the third only if a pop came in time.
        assert!(pushed == 2 || (pushed == 3 && popped >= 1));
        while let Some(item) = consumer.pop() {
            assert_eq!(item, popped);
            popped += 1;
        }
        assert_eq!(pushed, popped);
    });
}

#[test]
fn wrap_around_a_single_slot() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring::<usize>(1);
        let filler = thread::spawn(move || {
            let mut pushed = Vec::new();
            for item in 0..4 {
                if producer.push(item).is_ok() {
                    pushed.push(item);
                }
            }
            pushed
        });
        let mut popped: Vec<usize> = (0..3).filter_map(|_| consumer.pop()).collect();
        let pushed = filler.join().unwrap();
        popped.extend(consumer.pop());
        assert_eq!(consumer.pop(), None);
        assert_eq!(pushed, popped);
    });
}

#[test]
fn drop_half_full() {
    loom::model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&drops);
        let (mut producer, mut consumer) = ring::<Counted>(2);
        let filler = thread::spawn(move || {
            for _ in 0..2 {
                assert!(producer.push(Counted(Arc::clone(&counter))).is_ok());
            }
        });
        drop(consumer.pop());
        drop(consumer);
        filler.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_closed_ring_shows_all_that_was_pushed() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring::<usize>(2);
        let filler = thread::spawn(move || {
            producer.push(1).unwrap();
            producer.push(2).unwrap();
        });
        let early = consumer.pop();
        if consumer.is_closed() {
            let late: Vec<usize> = std::iter::from_fn(|| consumer.pop()).collect();
            assert_eq!(early.into_iter().chain(late).collect::<Vec<_>>(), [1, 2]);
        }
        filler.join().unwrap();
    });
}

#[test]
fn the_producer_closes_while_the_consumer_sleeps() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring::<usize>(1);
        let (mut waiter, waker) = StopFlag::new().waiter();
        let sleeper = thread::spawn(move || {
            let mut sum = 0;
            loop {
                let waited = waiter.wait_until(|| !consumer.is_empty() || consumer.is_closed());
                assert_eq!(waited, Waited::Ready);
                let closed = consumer.is_closed();
                while let Some(item) = consumer.pop() {
                    sum += item;
                }
                if closed {
                    return sum;
                }
            }
        });
        producer.push(7).unwrap();
        waker.wake();
        drop(producer);
        drop(waker);
        assert_eq!(sleeper.join().unwrap(), 7);
    });
}

#[test]
fn the_consumer_closes_while_the_producer_sleeps() {
    loom::model(|| {
        let (mut producer, consumer) = ring::<usize>(1);
        let (mut waiter, waker) = StopFlag::new().waiter();
        producer.push(1).unwrap();
        let sleeper = thread::spawn(move || {
            let waited = waiter.wait_until(|| !producer.is_full() || producer.is_closed());
            assert_eq!(waited, Waited::Ready);
            producer.is_closed()
        });
        drop(consumer);
        drop(waker);
        assert!(sleeper.join().unwrap());
    });
}

#[test]
fn stop_reaches_a_sleeper_and_one_about_to_sleep() {
    loom::model(|| {
        let flag = StopFlag::new();
        let sleeper_flag = flag.clone();
        let sleeper = thread::spawn(move || {
            let (mut waiter, _waker) = sleeper_flag.waiter();
            waiter.wait_until(|| false)
        });
        flag.stop();
        assert_eq!(sleeper.join().unwrap(), Waited::Stopped);
    });
}

#[test]
fn a_wake_from_either_of_two_sides_is_enough() {
    loom::model(|| {
        let (mut producer, mut consumer) = ring::<usize>(1);
        let flag = StopFlag::new();
        let (mut waiter, waker) = flag.waiter();
        let sleeper = thread::spawn(move || match waiter.wait_until(|| !consumer.is_empty()) {
            Waited::Ready => consumer.pop(),
            Waited::Stopped => None,
        });
        let stopper = thread::spawn(move || flag.stop());
        producer.push(3).unwrap();
        waker.wake();
        stopper.join().unwrap();
        let got = sleeper.join().unwrap();
        assert!(got == Some(3) || got.is_none());
    });
}

#[test]
fn stop_ends_two_sleepers() {
    loom::model(|| {
        let flag = StopFlag::new();
        let sleepers: Vec<_> = (0..2)
            .map(|_| {
                let (mut waiter, waker) = flag.waiter();
                // The waker lives on, so that nothing but the flag wakes the sleeper.
                let sleeper = thread::spawn(move || waiter.wait_until(|| false));
                (sleeper, waker)
            })
            .collect();
        flag.stop();
        for (sleeper, _waker) in sleepers {
            assert_eq!(sleeper.join().unwrap(), Waited::Stopped);
        }
    });
}

#[test]
fn a_worker_that_is_stopped_drops_what_is_in_flight_once() {
    loom::model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (mut requests, mut wanted) = ring::<Counted>(1);
        let (mut results, mut found) = ring::<Counted>(1);
        let flag = StopFlag::new();
        let (mut waiter, waker) = flag.waiter();
        let worker = thread::spawn(move || {
            while waiter.wait_until(|| !wanted.is_empty()) == Waited::Ready {
                if let Some(request) = wanted.pop() {
                    assert!(results.push(request).is_ok());
                }
            }
        });
        assert!(requests.push(Counted(Arc::clone(&drops))).is_ok());
        waker.wake();
        flag.stop();
        drop(found.pop());
        worker.join().unwrap();
        drop((requests, found, waker));
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

/// Two threads write one bucket, a third reads: it sees whole entries or none.
#[test]
fn a_table_gives_whole_entries_or_none() {
    loom::model(|| {
        let table = Arc::new(Table::new(0));
        let writers = [(1, 10), (1, 11)].map(|(key, data)| {
            let table = Arc::clone(&table);
            thread::spawn(move || table.put(key, data, |_| 0))
        });
        let found = table.get(1);
        assert!(matches!(found, None | Some(10 | 11)), "{found:?}");
        for writer in writers {
            writer.join().unwrap();
        }
        // The words of the two may be mixed, and then nothing is found.
        let found = table.get(1);
        assert!(matches!(found, None | Some(10 | 11)), "{found:?}");
    });
}

/// Two keys in one bucket, put at once: what is found of either is its own.
#[test]
fn entries_of_two_keys_do_not_mix() {
    loom::model(|| {
        let table = Arc::new(Table::new(0));
        let writer = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.put(3, 30, |_| 0))
        };
        table.put(5, 50, |_| 0);
        assert!(matches!(table.get(3), None | Some(30)));
        writer.join().unwrap();
        assert!(matches!(table.get(3), None | Some(30)));
        assert!(matches!(table.get(5), None | Some(50)));
    });
}

/// Two threads claim and release in one line: a key that nobody claims is never seen there.
#[test]
fn only_keys_that_were_claimed_are_seen() {
    loom::model(|| {
        let claims = Arc::new(Claims::new());
        let other = {
            let claims = Arc::clone(&claims);
            thread::spawn(move || {
                claims.claim(3);
                claims.release(3);
            })
        };
        assert!(!claims.is_claimed(5));
        claims.claim(4);
        assert!(!claims.is_claimed(5));
        claims.release(4);
        other.join().unwrap();
        assert!(!claims.is_claimed(5));
    });
}
