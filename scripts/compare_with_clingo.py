"""Why it exists: clingo shares no code with the engines, so it repeats no mistake of theirs.

Reads the file that `scripts/clingo` has written. Each program becomes an answer-set program, with
the facts and moves of its states as atoms that are set from outside. In each state its only answer
set has to be what the engine says.

What the game asks for is derived with variables that positive conditions bind, or not at all. The
head of a helper may have others, which a call binds. clingo has no calls, so there each ranges over
a finite universe: the constants of the program, and `f` of these as deep as a call can have it. Any
other variable is free: `not` holds if no value satisfies the condition, `distinct` is left out.
"""

import re
import sys

import clingo

ASKED = {"init": 1, "legal": 2, "next": 1, "goal": 2, "terminal": 0}


def read(text):
    """The lists of a text in GDL."""
    open_lists = [[]]
    for token in re.findall(r";.*|[()]|[^\s();]+", text):
        if token == "(":
            open_lists.append([])
        elif token == ")":
            closed = open_lists.pop()
            open_lists[-1].append(closed)
        elif not token.startswith(";"):
            open_lists[-1].append(token)
    return open_lists[0]


def literal_of(element):
    """A literal with its atom as a list, also where it has no arguments."""
    if isinstance(element, str):
        return [element]
    return ["not", literal_of(element[1])] if element[0] == "not" else element


def relation(literal):
    return literal[1][0] if literal[0] == "not" else literal[0]


def leaves(term):
    """Variables and constants."""
    return {term} if isinstance(term, str) else set().union(*map(leaves, term[1:]))


def variables(literal):
    return {leaf for leaf in leaves(literal) if leaf.startswith("?")}


def depth(term):
    """How often `f` is inside `f`."""
    if isinstance(term, str):
        return 0
    return (term[0] == "f") + max(map(depth, term[1:]), default=0)


def show(term):
    """A term, an atom or a literal in clingo's language."""
    if isinstance(term, str):
        return f"V{term[1:]}" if term.startswith("?") else f'"{term}"'
    if term[0] == "not":
        return f"not {show(term[1])}"
    arguments = [show(argument) for argument in term[1:]]
    return "!=".join(arguments) if term[0] == "distinct" else f"{term[0]}({','.join(arguments)})"


def translate(head, body, lines):
    """Adds the lines of a rule."""
    positive = [literal for literal in body if literal[0] not in ("not", "distinct")]
    bound = set().union(*map(variables, positive))
    if relation(head) in ASKED and not variables(head) <= bound:
        return
    bound |= variables(head)
    conditions = ["#true"]
    for literal in body:
        if variables(literal) <= bound:
            conditions.append(show(literal))
        elif literal[0] == "not":
            some = [f"some{len(lines)}", *sorted(variables(literal) & bound)]
            translate(some, [literal[1]], lines)
            conditions.append(f"not {show(some)}")
        elif literal[1] == literal[2]:
            return
    # What the state and the joint move bind has few values.
    given = [literal for literal in positive if literal[0] in ("true", "does")]
    in_universe = bound.difference(*map(variables, given))
    conditions += [f"universe({show(variable)})" for variable in sorted(in_universe)]
    lines.append(f"{show(head)} :- {', '.join(conditions)}.")


def program_of(rules, states):
    """The answer-set program of what the game asks for, directly or through helpers."""
    rules = [rule[1:] if rule[0] == "<=" else [rule] for rule in rules]
    rules = [[literal_of(element) for element in rule] for rule in rules]
    needed, n_before = set(ASKED), 0
    while n_before < len(needed):
        n_before = len(needed)
        needed.update(relation(it) for rule in rules if relation(rule[0]) in needed for it in rule)
    lines = [f"#show {name}/{arity}." for name, arity in ASKED.items()]
    for head, *body in rules:
        if relation(head) in needed:
            translate(head, body, lines)
    # A chain of calls has a helper once, and a rule of it adds one `f`.
    deep = {relation(rule[0]) for rule in rules if any(map(depth, rule))}
    deepest = max(depth(atom) for state in states for atom in state) + len(deep)
    for constant in set().union(*map(leaves, sum(rules, []))):
        if not constant.startswith("?"):
            terms = (f"{'f(' * n}{show(constant)}{')' * n}" for n in range(deepest + 1))
            lines.append(f"universe({';'.join(terms)}).")
    return lines


def compare(seed, rules, states):
    """Prints what differs; whether nothing does."""
    states = [[literal_of(element) for element in state] for state in states]
    given = {show(atom) for state in states for atom in state if atom[0] in ("true", "does")}
    lines = program_of(rules, states) + [f"#external {atom}." for atom in given]
    given = set(map(clingo.parse_term, given))
    solver = clingo.Control(["0", "--warn=none"])
    solver.add("base", [], "\n".join(lines))
    solver.ground([("base", [])])
    initial = [["init", fact[1]] for fact in states[0] if fact[0] == "true"]
    initial = {clingo.parse_term(show(atom)) for atom in initial}
    is_alike = True
    for number, state in enumerate(states):
        # The engine says no moves and no next state where the game is over.
        names = set(ASKED) - ({"legal", "next"} if ["terminal"] in state else set())
        state = {clingo.parse_term(show(atom)) for atom in state}
        for atom in given:
            solver.assign_external(atom, atom in state)
        with solver.solve(yield_=True) as models:
            found = [set(model.symbols(shown=True)) for model in models]
        found = [{atom for atom in atoms if atom.name in names} for atoms in found]
        expected = state - given | initial
        if found != [expected]:
            is_alike = False
            print(f"program {seed}, state {number}, {len(found)} answer sets, with", *state & given)
            for atoms in found:
                print("  only clingo:", *sorted(atoms - expected))
                print("  only the engine:", *sorted(expected - atoms))
    return is_alike


programs = []
with open(sys.argv[1], encoding="utf-8") as file:
    for kind, *elements in read(file.read()):
        if kind == "program":
            programs.append((elements[0], elements[1:], []))
        else:
            programs[-1][2].append(elements)
if not programs or not all([compare(*program) for program in programs]):
    sys.exit(1)
n_states = sum(len(states) for _, _, states in programs)
print(f"{len(programs)} programs, {n_states} states agree with clingo")
