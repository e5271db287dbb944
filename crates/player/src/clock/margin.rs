//! How long before the end of a clock an answer leaves: the margin.
//!
//! It is an allowance for delays that cannot be seen, such as those of the network, and the delay
//! that answers have had lately until their bytes were handed to the socket. The allowance begins
//! at the setting. It shrinks by steps while the game manager takes answers in time, and is the
//! setting again once an answer was delayed.
//!
//! Never uses: the time.

use std::net::IpAddr;
use std::time::Duration;

/// Confirmed answers after which the allowance shrinks by a step: while no answer is delayed, and
/// at most.
const ANSWERS_PER_STEP: u32 = 2;
const MAX_ANSWERS_PER_STEP: u32 = 64;
/// The smallest allowance: the setting divided by this, and at least a time that covers a local
/// network.
const MIN_DIVISOR: u32 = 5;
const MIN_MARGIN: Duration = Duration::from_millis(50);
/// The greatest margin: the setting times this, and at least a time.
const MAX_FACTOR: u32 = 4;
const MAX_MARGIN: Duration = Duration::from_secs(2);

/// The margin of a player, as it follows from what became of its answers.
///
/// Invariants: at the start it is the setting; between [`min`](Self::min) and
/// [`max`](Self::max) ever after; it shrinks only with a confirmed answer.
#[derive(Clone, Debug)]
pub(crate) struct Margin {
    setting: Duration,
    allowance: Duration,
    /// The largest delay seen, which decays by an eighth with each half of a step.
    delay: Duration,
    /// Confirmed answers since the last step.
    n_confirmed: u32,
    /// Confirmed answers that make a step. A delay that sets the allowance back doubles it; a step
    /// at the smallest allowance halves it.
    answers_per_step: u32,
    /// Whether the allowance must not shrink below the setting any more.
    keeps_setting: bool,
    /// The address of the game manager from whose matches this was learned.
    manager: Option<IpAddr>,
    /// The delay so far of the last answer that waited for its deadline, until the game manager
    /// shows whether it came in time.
    unconfirmed: Option<Duration>,
}

impl Margin {
    /// The margin before any answer.
    pub fn new(setting: Duration) -> Self {
        Self {
            setting,
            allowance: setting,
            delay: Duration::ZERO,
            n_confirmed: 0,
            answers_per_step: ANSWERS_PER_STEP,
            keeps_setting: false,
            manager: None,
            unconfirmed: None,
        }
    }

    /// A match begins, of the game manager at this address. What was learned from another one is
    /// dropped, except for the delays, which are those of this machine.
    pub fn begin_match(&mut self, manager: Option<IpAddr>) {
        self.unconfirmed = None;
        if manager.is_none() || manager != self.manager {
            *self = Self {
                delay: self.delay,
                answers_per_step: self.answers_per_step,
                manager,
                ..Self::new(self.setting)
            };
        }
    }

    /// The time before the end of a clock at which an answer leaves.
    pub fn get(&self) -> Duration {
        (self.allowance + self.delay).clamp(self.min(), self.max())
    }

    /// An answer left `delay` after its deadline. A delay of more than half of the
    /// allowance says that this machine is busy, and the allowance is the setting again.
    pub fn delayed(&mut self, delay: Duration) {
        self.delay = self.delay.max(delay);
        if delay > self.allowance / 2 {
            if self.allowance < self.setting {
                self.answers_per_step = (2 * self.answers_per_step).min(MAX_ANSWERS_PER_STEP);
                self.allowance = self.setting;
            }
            self.n_confirmed = 0;
        }
    }

    /// A PLAY was answered, so long after its deadline; `None` if it did not wait for that.
    pub fn answered(&mut self, delay: Option<Duration>) {
        self.unconfirmed = delay;
        if let Some(delay) = delay {
            self.delayed(delay);
        }
    }

    /// The bytes of the last answer were handed to the socket so long after it was given.
    pub fn handed_over(&mut self, after: Duration) {
        if let Some(delay) = &mut self.unconfirmed {
            *delay += after;
        }
        self.delayed(self.unconfirmed.unwrap_or(after));
    }

    /// The game manager has gone on: it took the last answer, or made another move of ours once its
    /// clock had ended. Returns whether the answer was late on the way.
    pub fn played(&mut self, was_taken: bool) -> bool {
        match (self.unconfirmed.take(), was_taken) {
            (Some(delay), true) => self.confirmed(delay),
            (Some(_), false) => {
                self.missed();
                return true;
            }
            (None, _) => {}
        }
        false
    }

    /// The game manager took an answer that left `delay` after its deadline.
    fn confirmed(&mut self, delay: Duration) {
        self.delay = self.delay.max(delay);
        if delay > self.allowance / 2 {
            return;
        }
        self.n_confirmed += 1;
        if self.n_confirmed.is_multiple_of(self.answers_per_step / 2) {
            self.delay = delay.max(self.delay * 7 / 8);
        }
        if self.n_confirmed >= self.answers_per_step {
            self.n_confirmed = 0;
            let least = if self.keeps_setting {
                self.setting
            } else {
                self.min()
            };
            if self.allowance <= least {
                self.answers_per_step = (self.answers_per_step / 2).max(ANSWERS_PER_STEP);
            }
            self.allowance = (self.allowance * 4 / 5).max(least);
        }
    }

    /// An answer that waited for its deadline was late on the way. The allowance is twice what it
    /// was, at least the setting, and never below that again.
    fn missed(&mut self) {
        self.allowance = (self.allowance * 2).clamp(self.setting, self.max());
        self.n_confirmed = 0;
        self.keeps_setting = true;
    }

    /// The smallest margin.
    fn min(&self) -> Duration {
        (self.setting / MIN_DIVISOR)
            .max(MIN_MARGIN)
            .min(self.setting)
    }

    /// The greatest margin.
    fn max(&self) -> Duration {
        (self.setting * MAX_FACTOR).max(MAX_MARGIN)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const HALF: Duration = Duration::from_millis(500);
    const MILLI: Duration = Duration::from_millis(1);

    /// A margin of half a second after `n_confirmed` confirmed answers without a delay.
    fn after(n_confirmed: u32) -> Margin {
        let mut margin = Margin::new(HALF);
        (0..n_confirmed).for_each(|_| margin.confirmed(Duration::ZERO));
        margin
    }

    #[test]
    fn a_margin_shrinks_by_steps_to_a_fifth_of_the_setting() {
        let margins: Vec<u128> = (0..=18).map(|n| after(n).get().as_millis()).collect();
        let steps = [
            500, 500, 400, 400, 320, 320, 256, 256, 204, 204, 163, 163, 131, 131, 104, 104, 100,
            100, 100,
        ];
        assert_eq!(margins, steps);
    }

    #[test]
    fn the_least_margin_covers_a_local_network_and_is_at_most_the_setting() {
        for (setting, least) in [
            (2_000, 400),
            (500, 100),
            (200, 50),
            (60, 50),
            (20, 20),
            (0, 0),
        ] {
            let mut margin = Margin::new(MILLI * setting);
            (0..100).for_each(|_| margin.confirmed(Duration::ZERO));
            assert_eq!(margin.get(), MILLI * least, "{setting}");
        }
    }

    #[test]
    fn one_delayed_answer_widens_the_margin_at_once() {
        let mut margin = after(100);
        margin.delayed(MILLI * 50);
        // Half of the allowance: the delay is added, and the allowance stays.
        assert_eq!(margin.get(), MILLI * 150);
        margin.delayed(MILLI * 80);
        assert_eq!(margin.get(), MILLI * 580);
        // Confirmed answers take both back, more slowly than before.
        (0..2).for_each(|_| margin.confirmed(Duration::ZERO));
        assert_eq!(margin.get(), MILLI * 570);
        (0..2).for_each(|_| margin.confirmed(Duration::ZERO));
        assert!(margin.get() < MILLI * 462);
    }

    /// Confirmed answers from the setting until the margin is this small.
    fn answers_until(margin: &mut Margin, small: Duration) -> u32 {
        let mut n_answers = 0;
        while margin.get() > small {
            margin.confirmed(Duration::ZERO);
            n_answers += 1;
        }
        n_answers
    }

    #[test]
    fn a_margin_that_is_set_back_again_and_again_shrinks_more_slowly() {
        let mut margin = after(100);
        let delayed = |margin: &mut Margin| {
            margin.answered(Some(MILLI * 150));
            margin.handed_over(MILLI);
            margin.played(true);
            answers_until(margin, MILLI * 300)
        };
        let answers: Vec<u32> = (0..7).map(|_| delayed(&mut margin)).collect();
        assert!(answers.is_sorted(), "{answers:?}");
        assert!(answers[5] > 10 * answers[0], "{answers:?}");
        assert_eq!(answers[6], answers[5], "{answers:?}");
        // Another game manager changes nothing about this machine.
        margin.begin_match(Some([10, 0, 0, 1].into()));
        assert!(answers_until(&mut margin, MILLI * 300) > answers[2]);
        // A machine that is idle again for long is trusted again.
        (0..2000).for_each(|_| margin.confirmed(Duration::ZERO));
        assert!(delayed(&mut margin) <= answers[1], "{answers:?}");
    }

    #[test]
    fn a_replaced_move_doubles_the_margin_which_never_shrinks_below_the_setting_again() {
        let mut margin = after(100);
        margin.missed();
        assert_eq!(margin.get(), HALF);
        margin.missed();
        assert_eq!(margin.get(), HALF * 2);
        (0..100).for_each(|_| margin.confirmed(Duration::ZERO));
        assert_eq!(margin.get(), HALF);
    }

    #[test]
    fn a_margin_has_an_upper_bound() {
        for (setting, most) in [
            (HALF, SECOND * 2),
            (SECOND, SECOND * 4),
            (Duration::ZERO, SECOND * 2),
        ] {
            let mut margin = Margin::new(setting);
            margin.delayed(SECOND * 100);
            assert_eq!(margin.get(), most);
            (0..100).for_each(|_| margin.missed());
            assert_eq!(margin.get(), most);
        }
    }

    #[test]
    fn delays_are_forgotten_slowly() {
        let mut margin = Margin::new(SECOND);
        margin.delayed(MILLI * 80);
        margin.confirmed(Duration::ZERO);
        assert_eq!(margin.get(), MILLI * 1_070);
    }

    proptest! {
        #[test]
        fn a_margin_keeps_its_bounds(
            setting in 0u32..3_000,
            events in proptest::collection::vec((0u8..3, 0u32..5_000), 0..200),
        ) {
            let mut margin = Margin::new(MILLI * setting);
            for (kind, delay) in events {
                let before = margin.clone();
                let delay = MILLI * delay;
                match kind {
                    0 => margin.delayed(delay),
                    1 => margin.confirmed(delay),
                    _ => margin.missed(),
                }
                let is_wider = margin.get() >= before.get();
                prop_assert!(kind == 1 || is_wider, "{before:?} {margin:?}");
                prop_assert!(kind != 2 || margin.get() >= MILLI * setting);
                prop_assert!((margin.min()..=margin.max()).contains(&margin.get()));
            }
        }
    }
}
