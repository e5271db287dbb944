//! From what was seen in random games to findings.
//!
//! What is wrong in a state is asked of the prover again. A question that it cannot answer in time
//! confirms nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use panza_gdl::{Atom, CHANCE_ROLE, Diagnostic, Id, RoleId, Rules, Span, Symbol, Term, keyword};
use panza_ground::GroundProgram;
use panza_machine::GameInfo;
use panza_prover::{Prover, State};

use super::finding::Finding;
use super::games::{Outside, Reached, STEPS, Seen};
use super::lazy_prover::LazyProver;
use super::reasons;
use crate::evidence::Evidence;

/// What stands between the names of a term.
const BREAKS: [char; 3] = ['(', ')', ' '];
/// Names that a message lists.
const LISTED: usize = 3;
/// Ended games without which nothing is said of goals that none of them reached.
const ENOUGH_ENDS: u32 = 50;

/// The findings, errors first.
pub fn findings(
    rules: &Rules,
    info: &dyn GameInfo,
    seen: &Seen,
    prover: &mut LazyProver<'_>,
    program: Option<&GroundProgram>,
) -> Vec<Finding> {
    let mut report = Report {
        rules,
        info,
        seen,
        findings: Vec::new(),
    };
    let has_doubts = !seen.stuck.is_empty() || seen.ended > 0;
    if has_doubts && let Some(prover) = prover.get() {
        report.stuck(prover);
        report.goals_of_ends(prover);
    }
    report.lost_facts();
    report.never_true(program);
    report.endless();
    report.unreached_goals();
    report.no_choice();
    report.outside(&seen.moves_outside, keyword::INPUT, "input", "legal move");
    report.outside(&seen.facts_outside, keyword::BASE, "base", "fact");
    report
        .findings
        .sort_by_key(|finding| finding.diagnostic.severity);
    report.findings
}

/// That the game cannot be worked out, at the relation that the text names as `name/arity`.
pub fn no_answer(rules: &Rules, why: &str) -> Finding {
    let mut heads = rules.rules.iter().map(|rule| &rule.head);
    let head = heads.find(|head| {
        let (name, arity) = head.signature();
        why.contains(&format!("`{}/{arity}`", rules.symbols.name(name)))
    });
    let span = head.map_or_else(Span::default, |head| head.span);
    let message = format!("the moves cannot be worked out: {why}");
    let help = "every relation needs a finite number of facts in every state";
    Finding {
        diagnostic: Diagnostic::error("no-answer", span, message).with_help(help),
        evidence: None,
    }
}

struct Report<'a> {
    rules: &'a Rules,
    info: &'a dyn GameInfo,
    seen: &'a Seen,
    findings: Vec<Finding>,
}

impl Report<'_> {
    fn add(&mut self, diagnostic: Diagnostic, reached: Option<&Reached>) {
        let evidence = reached.map(|reached| self.evidence(reached));
        self.findings.push(Finding {
            diagnostic,
            evidence,
        });
    }

    fn evidence(&self, reached: &Reached) -> Evidence {
        let joint_moves = reached.path.chunks(self.info.n_roles().max(1));
        Evidence::of(self.info, &reached.state, joint_moves)
    }

    /// Where the rules name the role.
    fn role_span(&self, role: RoleId) -> Span {
        let term = self.rules.roles().get(role.index()).cloned();
        let facts = self.rules.rules.iter().filter(|rule| {
            rule.head.signature() == (keyword::ROLE, 1)
                && rule.head.arguments.first() == term.as_ref()
        });
        facts.map(|rule| rule.head.span).next().unwrap_or_default()
    }

    /// The same state in the prover.
    fn state_of(&self, prover: &mut Prover, reached: &Reached) -> Option<State> {
        let facts = self.info.state_facts(&reached.state);
        let terms: Option<Vec<_>> = facts.iter().map(|fact| prover.read_term(fact)).collect();
        Some(prover.state_from_facts(&terms?))
    }

    /// States without a legal move for a role.
    fn stuck(&mut self, prover: &mut Prover) {
        let seen = self.seen;
        for (&role, reached) in &seen.stuck {
            let Some(state) = self.state_of(prover, reached) else {
                continue;
            };
            let goes_on = prover.is_terminal(&state) == Ok(false);
            let mut has_none = || {
                prover
                    .legal_moves(&state, role)
                    .is_ok_and(|moves| moves.is_empty())
            };
            if goes_on && has_none() {
                let message = format!(
                    "{} has no legal move {}, where the game is not over",
                    self.info.role_name(role),
                    after(reached, self.info),
                );
                let fault = Diagnostic::error("no-legal-move", self.role_span(role), message);
                let help = "every role needs a legal move in every state that is not terminal";
                self.add(fault.with_help(help), Some(reached));
            }
        }
    }

    /// Ends without a goal, and with several, of each role.
    fn goals_of_ends(&mut self, prover: &mut Prover) {
        let roles = (0..self.info.n_roles()).map(RoleId::from_index);
        for role in roles.filter(|&role| self.info.role_name(role) != CHANCE_ROLE) {
            let name = self.info.role_name(role).to_string();
            let goalless = self.seen.goalless.get(&role);
            let goalless = goalless.filter(|it| {
                self.goals(prover, it, role)
                    .is_some_and(|goals| goals.is_empty())
            });
            if let Some(reached) = goalless {
                let message = format!(
                    "{name} has no goal {}, where the game is over",
                    after(reached, self.info)
                );
                let fault = Diagnostic::error("no-goal", self.role_span(role), message);
                let help =
                    "every role needs exactly one goal, from 0 to 100, in every terminal state";
                self.add(fault.with_help(help), Some(reached));
            }
            let several = self.seen.ends.iter().find_map(|reached| {
                let goals = self.goals(prover, reached, role)?;
                (goals.len() > 1).then_some((reached, goals))
            });
            if let Some((reached, goals)) = several {
                let goals: Vec<String> = goals.iter().map(u8::to_string).collect();
                let message = format!(
                    "{name} has the goals {} {}, where the game is over",
                    goals.join(" and "),
                    after(reached, self.info),
                );
                let fault = Diagnostic::warning("two-goals", self.role_span(role), message);
                let help = "the highest counts here; other players may refuse the game";
                self.add(fault.with_help(help), Some(reached));
            }
        }
    }

    /// The goals from 0 to 100 of a role at an end; nothing where they are not found.
    fn goals(&self, prover: &mut Prover, reached: &Reached, role: RoleId) -> Option<BTreeSet<u8>> {
        let state = self.state_of(prover, reached)?;
        if prover.is_terminal(&state) != Ok(true) {
            return None;
        }
        let values = prover.goal_values(&state, role).ok()?;
        let values = values
            .iter()
            .filter_map(|&value| prover.show(value).parse().ok());
        Some(values.filter(|&goal: &u8| goal <= 100).collect())
    }

    /// Facts that the first joint move loses though it does not name them, where of several fewer
    /// are left and no rule keeps them.
    fn lost_facts(&mut self) {
        let Some((before, reached)) = &self.seen.first_step else {
            return;
        };
        let (before, evidence) = (self.info.state_facts(before), self.evidence(reached));
        let moves = evidence.moves_line();
        let named: HashSet<&str> = moves.split(BREAKS).collect();
        for rule in reasons::unkept(self.rules) {
            let kind = rule.head.arguments.first().and_then(Term::signature);
            let name = kind.map(|(name, _)| self.rules.symbols.name(name));
            let is_own = |fact: &&String| fact.trim_start_matches('(').split(BREAKS).next() == name;
            let n_after = evidence.facts.iter().filter(is_own).count();
            let is_lost = |fact: &&String| {
                let mut words = fact.split(BREAKS).filter(|word| !word.is_empty());
                !evidence.facts.contains(fact) && !words.any(|word| named.contains(word))
            };
            let own = before.iter().filter(is_own);
            if let Some(lost) = own
                .clone()
                .find(is_lost)
                .filter(|_| own.count() > n_after.max(1))
            {
                let message = format!(
                    "`{lost}` held before the first joint move `{moves}`, and nothing keeps it"
                );
                let warning = Diagnostic::warning("lost-fact", rule.head.span, message)
                    .with_help("is a `next` rule for what stays missing?");
                self.add(warning, Some(reached));
            }
        }
    }

    /// A condition that can never be true, in games that do not end.
    fn never_true(&mut self, program: Option<&GroundProgram>) {
        let Some((atom, head)) = program.and_then(|it| reasons::never_true(self.rules, it)) else {
            return;
        };
        let shown = |atom: &Atom| match (atom.relation, atom.arguments.last()) {
            (keyword::TRUE | keyword::NEXT | keyword::LEGAL, Some(last)) => {
                self.rules.show_term(last, &[])
            }
            _ => self.rules.show_atom(atom, &[]),
        };
        let hangs = head.map(|head| format!(", on which all of `{}` hangs,", shown(head)));
        let (shown, hangs) = (shown(atom), hangs.unwrap_or_default());
        let message = format!("`{shown}`{hangs} can never be true");
        let warning = Diagnostic::warning("never-true", atom.span, message)
            .with_help("a misprint, or is a rule missing that makes it true?");
        self.add(warning, None);
    }

    /// Games that were cut off.
    fn endless(&mut self) {
        let Seen { games, endless, .. } = *self.seen;
        if endless > 0 {
            let message =
                format!("{endless} of {games} random games did not end within {STEPS} joint moves");
            let rules = self.rules.rules.iter();
            let terminal = rules
                .map(|rule| &rule.head)
                .find(|head| head.relation == keyword::TERMINAL);
            let span = terminal.map_or_else(Span::default, |head| head.span);
            let fault = Diagnostic::warning("endless-game", span, message);
            let help = "a step counter in the state is the usual way to make every game end";
            self.add(fault.with_help(help), None);
        }
    }

    /// Goals that the rules name and no end had: a note for each role, or one for all of them.
    fn unreached_goals(&mut self) {
        if self.seen.ended < ENOUGH_ENDS {
            return;
        }
        let roles = self.rules.roles();
        let mut unreached: BTreeMap<Option<usize>, (Span, BTreeSet<u8>)> = BTreeMap::new();
        for rule in &self.rules.rules {
            let [role, Term::Constant(goal)] = &rule.head.arguments[..] else {
                continue;
            };
            let Some(goal) = self.number(rule.head.relation, *goal) else {
                continue;
            };
            let of_role = roles.iter().position(|own| own == role);
            if of_role.is_none() && !matches!(role, Term::Variable(_)) {
                continue;
            }
            let mut goals = self.seen.goals.iter().enumerate();
            let is_reached = goals.any(|(index, goals)| {
                of_role.is_none_or(|own| own == index) && goals.contains(&goal)
            });
            if !is_reached {
                let first = (rule.head.span, BTreeSet::new());
                unreached.entry(of_role).or_insert(first).1.insert(goal);
            }
        }
        for (role, (span, goals)) in unreached {
            let role = role.map(RoleId::from_index);
            let whose = role.map_or("any role", |role| self.info.role_name(role));
            let goals: Vec<String> = goals.iter().map(u8::to_string).collect();
            let plural = if goals.len() == 1 { "" } else { "s" };
            let message = format!(
                "none of {} random games ended with goal{plural} {} for {whose}",
                self.seen.ended,
                goals.join(", ")
            );
            self.add(Diagnostic::note("unreached-goal", span, message), None);
        }
    }

    /// A goal from 0 to 100 in the head of a rule for `goal`.
    fn number(&self, relation: Symbol, goal: Symbol) -> Option<u8> {
        let goal = self.rules.symbols.name(goal).parse().ok();
        goal.filter(|&goal: &u8| relation == keyword::GOAL && goal <= 100)
    }

    /// Roles that had one legal move in every state.
    fn no_choice(&mut self) {
        for role in (0..self.info.n_roles()).map(RoleId::from_index) {
            let name = self.info.role_name(role);
            let has_choice = self.seen.has_choice.get(role.index()) == Some(&true);
            if has_choice || self.seen.n_states == 0 || name == CHANCE_ROLE {
                continue;
            }
            let message = format!(
                "{name} had one legal move in every state of {} random games",
                self.seen.games
            );
            self.add(
                Diagnostic::note("no-choice", self.role_span(role), message),
                None,
            );
        }
    }

    /// What a relation should list and does not.
    fn outside(&mut self, outside: &Outside, relation: Symbol, name: &str, what: &str) {
        let Some(first) = &outside.first else {
            return;
        };
        let heads = self.rules.rules.iter().map(|rule| &rule.head);
        let mut own = heads.filter(|head| head.relation == relation);
        let span = own.next().map_or_else(Span::default, |head| head.span);
        let names: Vec<&str> = outside
            .names
            .iter()
            .take(LISTED)
            .map(String::as_str)
            .collect();
        let n = outside.names.len();
        let (plural, more) = match n {
            1 => ("", ""),
            _ => ("s", if n > LISTED { ", ..." } else { "" }),
        };
        let verb = if n == 1 { "is" } else { "are" };
        let message = format!(
            "{n} {what}{plural} {verb} not in `{name}`: {}{more}",
            names.join(", ")
        );
        let code = match relation {
            keyword::INPUT => "outside-input",
            _ => "outside-base",
        };
        self.add(Diagnostic::note(code, span, message), Some(first));
    }
}

/// How a state was reached, in words.
fn after(reached: &Reached, info: &dyn GameInfo) -> String {
    match reached.path.len() / info.n_roles().max(1) {
        0 => "in the initial state".to_string(),
        1 => "after 1 joint move".to_string(),
        n => format!("after {n} joint moves"),
    }
}
