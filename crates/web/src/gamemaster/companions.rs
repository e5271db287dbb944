//! Other modules that search the match of an [`OwnPlayer`](super::OwnPlayer) too: root-parallel
//! search, as that of many processes.
//!
//! Modules share no memory. A page carries orders from the player ([`Orders`]) to each companion
//! ([`OrderedSearch`]), and reports back, both as JSON. An order says what is to be searched. A
//! report says what is known of the moves there.
//!
//! Invariants: a report counts in the position that it is about only; a companion that is late, or
//! cannot build the game, costs its part and not the match.
//!
//! Never uses: clocks of the match, the page.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use panza_config::Settings;
use panza_player::{Companion, Companions, SharedGame, SharedRoot, SharedTarget, search_config};
use panza_sync::{Instant, lock};

/// Time between two reports of a root.
const SLICE: Duration = Duration::from_millis(50);
/// How long a companion without an order rests.
const REST: Duration = Duration::from_secs(1);

/// What a companion is to search.
#[derive(Serialize, Deserialize)]
struct Order {
    /// Its number, greater than that of the order before.
    number: u64,
    /// The seed of the companion, which differs from those of others.
    seed: u64,
    /// The game, where it is another than that of the order before.
    game: Option<SharedGame>,
    /// The state; nothing is searched without one.
    state: Option<Vec<u64>>,
}

/// What is known of the root of an order.
#[derive(Serialize, Deserialize)]
struct Report {
    /// The number of the order.
    number: u64,
    root: SharedRoot,
}

/// What the companions of a player are to search, and what they have found.
pub struct Orders(Mutex<Target>);

struct Target {
    shared: SharedTarget,
    /// What each companion was told last.
    told: Vec<Told>,
}

/// What a companion was told last.
#[derive(Clone, Default)]
struct Told {
    number: u64,
    /// The search whose game it has.
    search: Option<u64>,
}

impl Orders {
    /// For this number of companions, which have nothing to search yet.
    pub fn new(companions: usize) -> Self {
        Self(Mutex::new(Target {
            shared: SharedTarget::new(companions),
            told: vec![Told::default(); companions],
        }))
    }

    /// The next order for a companion, from 0; `None` where it has the newest, or is not there.
    pub fn next(&self, companion: usize) -> Option<String> {
        let Target { shared, told } = &mut *lock(&self.0);
        let told = told.get_mut(companion)?;
        if told.number == shared.number() {
            return None;
        }
        told.number = shared.number();
        let now = shared.now();
        let other = now.as_ref().filter(|it| told.search != Some(it.search));
        told.search = other.map_or(told.search, |it| Some(it.search));
        let order = Order {
            number: shared.number(),
            seed: companion as u64 + 1,
            game: other.map(|it| (*it.game).clone()),
            state: now.as_ref().map(|it| it.state.to_vec()),
        };
        serde_json::to_string(&order).ok()
    }

    /// Takes the report of a companion.
    ///
    /// # Errors
    /// It is none.
    pub fn take(&self, companion: usize, report: &[u8]) -> Result<(), String> {
        let Report { number, root } =
            serde_json::from_slice(report).map_err(|fault| fault.to_string())?;
        lock(&self.0).shared.take(companion, number, root);
        Ok(())
    }
}

impl Companions for Orders {
    fn begin(&self, search: u64, game: Arc<SharedGame>) {
        lock(&self.0).shared.begin(search, game);
    }

    fn go_to(&self, search: u64, state: &[u64]) {
        lock(&self.0).shared.go_to(search, state);
    }

    fn found(&self, search: u64) -> Vec<Arc<SharedRoot>> {
        lock(&self.0).shared.found(search)
    }

    fn end(&self, search: u64) {
        lock(&self.0).shared.end(search);
    }
}

/// The search of a companion.
pub struct OrderedSearch {
    settings: Settings,
    companion: Option<Companion>,
    /// The order that it follows.
    number: u64,
    /// When it reported last; `None` while there is nothing to search.
    reported: Option<Instant>,
}

impl OrderedSearch {
    /// A search with these settings, which has no order yet.
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            companion: None,
            number: 0,
            reported: None,
        }
    }

    /// Follows an order from now on.
    ///
    /// # Errors
    /// It is none, or cannot be followed.
    pub fn follow(&mut self, order: &[u8]) -> Result<(), String> {
        let order: Order = serde_json::from_slice(order).map_err(|fault| fault.to_string())?;
        self.reported = None;
        self.number = order.number;
        let search = &self.settings.search;
        let new = || Companion::new(search_config(search, order.seed));
        let companion = self.companion.get_or_insert_with(new);
        if let Some(game) = &order.game {
            companion.begin(game)?;
        }
        if let Some(state) = &order.state {
            companion.go_to(state)?;
            self.reported = Some(Instant::now());
        }
        Ok(())
    }

    /// Searches for about this time. Returns how long there is nothing to do then.
    pub fn work(&mut self, time: Duration) -> Duration {
        let companion = self.companion.as_mut().filter(|_| self.reported.is_some());
        let has_searched = companion.is_some_and(|it| it.go_on(time));
        if has_searched { Duration::ZERO } else { REST }
    }

    /// What is known of the root; `None` where there is nothing to report yet.
    pub fn report(&mut self) -> Option<String> {
        self.reported.filter(|last| last.elapsed() >= SLICE)?;
        let root = self.companion.as_mut()?.search(Duration::ZERO).ok()?;
        self.reported = (!root.is_proven).then(Instant::now);
        let number = self.number;
        serde_json::to_string(&Report { number, root }).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gamemaster::{OwnPlayer, Relay};
    use panza_sync::{after, is_past};
    use serde_json::{from_str, json};

    fn settings() -> Settings {
        let own = [
            "logs.match_logs=false",
            "memory.enabled=false",
            "search.method=tree",
        ];
        Settings::load(None, &own.map(String::from)).unwrap()
    }

    fn game() -> Arc<SharedGame> {
        let game = json!({ "rules": "(role a)", "role": ["a", 0], "facts": 1, "settings": null });
        Arc::new(serde_json::from_value(game).unwrap())
    }

    fn report(number: u64) -> Vec<u8> {
        let root = SharedRoot::default();
        serde_json::to_vec(&Report { number, root }).unwrap()
    }

    #[test]
    fn an_order_is_given_once_with_the_game_where_that_is_new() {
        let orders = Orders::new(1);
        assert_eq!(orders.next(0), None);
        orders.begin(7, game());
        let rests: Order = from_str(&orders.next(0).unwrap()).unwrap();
        assert!(rests.game.is_none() && rests.state.is_none());
        orders.go_to(7, &[1]);
        let order: Order = from_str(&orders.next(0).unwrap()).unwrap();
        assert!(order.game.is_some() && order.state == Some(vec![1]));
        assert_eq!(orders.next(0), None);
        assert_eq!(orders.next(1), None);
        orders.go_to(7, &[2]);
        let order: Order = from_str(&orders.next(0).unwrap()).unwrap();
        assert!(order.game.is_none() && order.state == Some(vec![2]));
        orders.end(7);
        let rests: Order = from_str(&orders.next(0).unwrap()).unwrap();
        assert!(rests.game.is_none() && rests.state.is_none());
    }

    #[test]
    fn a_report_counts_in_the_position_that_it_is_about() {
        let orders = Orders::new(2);
        orders.begin(7, game());
        orders.go_to(7, &[1]);
        let order: Order = from_str(&orders.next(1).unwrap()).unwrap();
        orders.take(1, &report(order.number)).unwrap();
        assert_eq!(orders.found(7).len(), 1);
        assert!(orders.found(6).is_empty());
        orders.go_to(7, &[2]);
        assert!(orders.found(7).is_empty());
        orders.take(1, &report(order.number)).unwrap();
        orders.take(9, &report(order.number + 1)).unwrap();
        assert!(orders.found(7).is_empty());
        assert!(orders.take(1, b"{}").is_err());
    }

    #[test]
    fn a_companion_searches_the_match_of_a_player() {
        let settings = settings();
        let orders = Arc::new(Orders::new(1));
        let mut player = OwnPlayer::new(&settings, Some(Arc::clone(&orders)));
        let mut search = OrderedSearch::new(&settings);
        let row = "role(x),role(o),square(1),square(2),square(3),init(cell(N,b)) :- square(N),\
            init(control(x)),legal(mark(N)) :- cell(N,b),\
            mark(N) :: control(R) ==> ~cell(N,b) & cell(N,R),\
            mark(N) :: control(x) ==> ~control(x) & control(o),\
            mark(N) :: control(o) ==> ~control(o) & control(x),\
            goal(R,100) :- role(R) & cell(2,R),goal(R,0) :- role(R) & ~cell(2,R),\
            terminal :- ~cell(1,b) & ~cell(2,b) & ~cell(3,b)";
        let start = format!("start(x,ruleset({row}),20,20)");
        let message = json!({ "player": "panza", "number": 1, "content": start });
        let Ok(Relay::Awaited(_)) = player.take(message.to_string().as_bytes()) else {
            panic!("a START is answered later");
        };
        let until = after(Duration::from_secs(60));
        let found = loop {
            player.work(Duration::from_millis(5));
            if let Some(order) = orders.next(0) {
                search.follow(&order.into_bytes()).unwrap();
            }
            search.work(Duration::from_millis(5));
            if let Some(report) = search.report() {
                orders.take(0, report.as_bytes()).unwrap();
            }
            let target = lock(&orders.0);
            if let Some(root) = target.shared.found_by(0) {
                break root.clone();
            }
            drop(target);
            assert!(!is_past(until));
        };
        let best = found
            .moves
            .iter()
            .max_by(|a, b| a.bounds.0.cmp(&b.bounds.0));
        assert_eq!(best.unwrap().mv, "(mark 2)");
    }

    #[test]
    fn what_is_no_order_is_refused() {
        let mut search = OrderedSearch::new(&settings());
        assert!(search.follow(b"{}").is_err());
        let order = json!({ "number": 1, "seed": 1, "game": null, "state": [1] });
        assert!(search.follow(order.to_string().as_bytes()).is_err());
        assert_eq!(search.report(), None);
        assert_eq!(search.work(Duration::from_millis(1)), REST);
    }
}
