//! Supplies: passes that are pooled, so that only their number is kept.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::moves::{Kind, Moves};
use super::{Game, ReducedMove};
use panza_gdl::{BaseId, MoveId};
use panza_machine::{Condition, Supply};
use panza_propnet::Signal;
use panza_sync::Budget;

/// The facts that a pass asks for and uses up.
type Token = Vec<Condition>;
/// Passes of a role with the same effect and the same live conditions.
type PassKind = (usize, Vec<Signal>);

/// The passes of a game.
pub(super) struct Passes {
    pub supplies: Vec<Supply>,
    /// A move for each supply and kind of pass.
    pub moves: Vec<ReducedMove>,
    /// Open moves that cannot be pooled.
    pub rejected: Vec<MoveId>,
}

/// The open moves, with the token and the kind of each.
struct Candidates {
    token_of: BTreeMap<MoveId, Token>,
    kind_of: BTreeMap<MoveId, PassKind>,
}

impl Passes {
    /// Pools the open moves. `None` when the budget is spent.
    pub fn find(game: &Game<'_>, moves: &Moves<'_>, budget: &mut Budget) -> Option<Passes> {
        let open = moves.possible.iter().copied();
        let open: Vec<MoveId> = open.filter(|&mv| moves.kinds[mv] == Kind::Open).collect();
        let mut passes = Passes {
            supplies: Vec::new(),
            moves: Vec::new(),
            rejected: Vec::new(),
        };
        let candidates = Candidates::of(game, moves, &open, budget)?;
        let spoilt = candidates.spoilt(game, budget)?;
        // Tokens that serve passes of the same kinds are alike.
        let mut kinds_of: BTreeMap<&Token, BTreeSet<&PassKind>> = BTreeMap::new();
        for (mv, token) in &candidates.token_of {
            if !spoilt.contains(token) {
                let kinds = kinds_of.entry(token).or_default();
                kinds.insert(&candidates.kind_of[mv]);
            }
        }
        let mut alike: BTreeMap<BTreeSet<&PassKind>, Vec<&Token>> = BTreeMap::new();
        for (token, kinds) in kinds_of {
            alike.entry(kinds).or_default().push(token);
        }
        let mut supply_of: HashMap<&Token, usize> = HashMap::new();
        // Of a single token there is nothing to count.
        for tokens in alike.into_values().filter(|tokens| tokens.len() > 1) {
            let place = passes.supplies.len();
            supply_of.extend(tokens.iter().map(|&token| (token, place)));
            let tokens = tokens.into_iter().cloned().collect();
            passes.supplies.push(Supply { tokens });
        }
        let mut place_of: BTreeMap<(usize, &PassKind), usize> = BTreeMap::new();
        for mv in open {
            let token = candidates.token_of.get(&mv);
            let Some(&supply) = token.and_then(|token| supply_of.get(token)) else {
                passes.rejected.push(mv);
                continue;
            };
            let key = (supply, &candidates.kind_of[&mv]);
            let place = *place_of.entry(key).or_insert_with(|| {
                passes.moves.push(ReducedMove {
                    role: game.network.moves[mv].0,
                    members: Vec::new(),
                    supply: Some(supply),
                });
                passes.moves.len() - 1
            });
            passes.moves[place].members.push(mv);
        }
        Some(passes)
    }
}

impl Candidates {
    /// The moves whose dead conditions are single facts.
    fn of(
        game: &Game<'_>,
        moves: &Moves<'_>,
        open: &[MoveId],
        budget: &mut Budget,
    ) -> Option<Candidates> {
        let mut found = Candidates {
            token_of: BTreeMap::new(),
            kind_of: BTreeMap::new(),
        };
        for &mv in open.iter().filter(|_| game.steps.is_some()) {
            let conditions = moves.conditions[mv].iter();
            let (live, dead): (Vec<_>, Vec<_>) = conditions.partition(|it| moves.is_on_live(it));
            budget.spend(live.len() + dead.len() + 1)?;
            let token = dead.iter().map(|it| it.condition(game.network));
            if let Some(mut token) = token.collect::<Option<Token>>() {
                token.sort_unstable();
                let live = live.iter().map(|it| it.signal).collect();
                found.token_of.insert(mv, token);
                found.kind_of.insert(mv, (moves.effect[mv], live));
            }
        }
        Some(found)
    }

    /// The tokens that are not used up by their moves for good, or that other moves change.
    fn spoilt(&self, game: &Game<'_>, budget: &mut Budget) -> Option<BTreeSet<&Token>> {
        let mut spoilt: BTreeSet<&Token> = BTreeSet::new();
        let mut token_with: HashMap<BaseId, (&Token, bool)> = HashMap::new();
        let tokens: BTreeSet<&Token> = self.token_of.values().collect();
        for &token in &tokens {
            for &(base, value) in token {
                if let Some((other, _)) = token_with.insert(base, (token, value)) {
                    spoilt.extend([token, other]);
                }
            }
        }
        for step in game.steps.into_iter().flatten() {
            budget.spend(step.may.len() + step.must.len() + 1)?;
            let own = step.choice.and_then(|mv| self.token_of.get(&mv));
            for (base, new) in &step.may {
                // A fact of a token may be lost with the token's own moves only, and never comes
                // back.
                if let Some(&(token, value)) = token_with.get(base)
                    && (*new == value || own != Some(token))
                {
                    spoilt.insert(token);
                }
            }
            if let Some(token) = own {
                let is_lost = |&(base, value): &Condition| step.must.contains(&(base, !value));
                if !token.iter().any(is_lost) {
                    spoilt.insert(token);
                }
            }
        }
        Some(spoilt)
    }
}
