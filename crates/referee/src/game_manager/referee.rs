//! The state of a match, evaluated by the reference prover.

use panza_gdl::{Id, RoleId, Rules, TermId, only_in_other_case, sexpr};
use panza_prover::{Prover, ProverError, State};

pub struct Referee {
    prover: Prover,
    state: State,
    roles: Vec<String>,
}

impl Referee {
    pub fn new(rules: &Rules) -> Result<Self, ProverError> {
        let prover = Prover::new(rules)?;
        Ok(Self {
            state: prover.initial_state(),
            roles: prover
                .roles()
                .iter()
                .map(|&role| prover.show(role))
                .collect(),
            prover,
        })
    }

    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    pub fn is_over(&mut self) -> Result<bool, ProverError> {
        self.prover.is_terminal(&self.state)
    }

    /// Each role's legal moves, sorted by their text.
    pub fn legal_moves(&mut self) -> Result<Vec<Vec<TermId>>, ProverError> {
        (0..self.roles.len())
            .map(|role| {
                let role = RoleId::from_index(role);
                let mut moves = self.prover.legal_moves(&self.state, role)?;
                moves.sort_by_cached_key(|&mv| self.prover.show(mv));
                Ok(moves)
            })
            .collect()
    }

    /// The legal move that an answer means: its first expression, as in ggp-base. Where that is not
    /// legal, it is the one legal move that differs in letter case only.
    pub fn read_move(&mut self, answer: &str, legal: &[TermId]) -> Option<TermId> {
        let (expressions, faults) = sexpr::parse(answer);
        let first = expressions.first().filter(|_| faults.is_empty())?;
        let mv = self.prover.term_from_sexpr(first);
        if let Some(mv) = mv.filter(|mv| legal.contains(mv)) {
            return Some(mv);
        }
        let shown = |mv: &TermId| self.prover.show(*mv);
        only_in_other_case(&first.to_string(), legal.iter().copied(), shown)
    }

    pub fn show(&self, mv: TermId) -> String {
        self.prover.show(mv)
    }

    pub fn advance(&mut self, joint_move: &[TermId]) -> Result<(), ProverError> {
        self.state = self.prover.next_state(&self.state, joint_move)?;
        Ok(())
    }

    /// Each role's goal, the highest where it has several.
    pub fn goals(&mut self) -> Result<Vec<Option<u8>>, ProverError> {
        let roles = self.roles.iter().enumerate();
        roles
            .map(|(index, name)| {
                let role = RoleId::from_index(index);
                let goal = self.prover.goal(&self.state, role)?;
                let n_values = self.prover.goal_values(&self.state, role)?.len();
                if let (2.., Some(goal)) = (n_values, goal) {
                    tracing::warn!("{name} has {n_values} goals, the highest counts: {goal}");
                }
                Ok(goal)
            })
            .collect()
    }

    /// The facts that hold, sorted.
    pub fn facts(&self) -> Vec<String> {
        let facts = self.prover.facts(&self.state);
        let mut facts: Vec<String> = facts.iter().map(|&fact| self.prover.show(fact)).collect();
        facts.sort();
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_goals_the_highest_counts() {
        let rules = "(role r) (role s) (init a) (legal r x) (legal s x) terminal (goal r 0)
            (<= (goal r 70) (true a)) (goal s 101) (goal s some)";
        let mut referee = Referee::new(&panza_gdl::load(rules).0).unwrap();
        assert_eq!(referee.goals(), Ok(vec![Some(70), None]));
    }

    #[test]
    fn a_move_in_other_letter_case_is_meant_where_there_is_one() {
        let rules = "(role r) (init a) (<= terminal (not (true a))) (goal r 0)
            (legal r (Mark a)) (legal r go) (legal r Go) (legal r (mark b))";
        let mut referee = Referee::new(&panza_gdl::load(rules).0).unwrap();
        let legal = referee.legal_moves().unwrap().remove(0);
        for (answer, meant) in [
            ("go", Some("go")),
            ("Go", Some("Go")),
            ("( MARK  A )", Some("(Mark a)")),
            ("(MARK B)", Some("(mark b)")),
            ("(mark b) and more", Some("(mark b)")),
            // One of two.
            ("GO", None),
            ("(MARK C)", None),
            ("(MARK B", None),
            ("", None),
        ] {
            let found = referee.read_move(answer, &legal);
            let found = found.map(|mv| referee.show(mv));
            assert_eq!(found.as_deref(), meant, "{answer}");
        }
    }
}
