use super::*;

const GAMES: &str = "games = ['ticTacToe']\n";
const A: &str = "[[players]]\nname = 'a'\nbuiltin = 'legal'\n";
const B: &str = "[[players]]\nname = 'b'\nbuiltin = 'random'\n";

/// The message for a file that cannot be played.
fn fault(text: &str) -> String {
    format!("{:#}", Schedule::parse(text, "t.toml").unwrap_err())
}

fn player(spec: PlayerSpec, set: &[&str]) -> Entry {
    let settings = SettingsChoice {
        config: None,
        set: set.iter().map(ToString::to_string).collect(),
    };
    Entry::Player { spec, settings }
}

#[test]
fn the_least_file_has_the_defaults() {
    let plan = Schedule::parse(&format!("{GAMES}{A}{B}"), "t.toml").unwrap();
    let event = &plan.events[0];
    assert_eq!((event.start_clock, event.play_clock), (10, 5));
    assert_eq!((event.games_a_side, event.n_roles), (1, 2));
    assert_eq!((plan.parallel, plan.seed, plan.cores.len()), (1, 1, 0));
    assert_eq!(plan.players[0].version, env!("CARGO_PKG_VERSION"));
    assert_eq!(plan.players[0].entry, player(PlayerSpec::Legal, &[]));
}

#[test]
fn all_keys_are_read() {
    let plan = Schedule::parse(
        "games = ['ticTacToe', { game = 'hex', start_clock = 20, play_clock = 2, games_a_side = 5 }]\n\
         games_a_side = 3\nstart_clock = 7\nplay_clock = 1\nseed = 9\nparallel = 2\ncores = [3, 1, 0, 2]\n\
         log_folder = 'logs'\npairs = [['b', 'a']]\n\
         [[players]]\nname = 'a'\nbuiltin = 'panza'\nset = ['search.threads=1']\nversion = 'x'\n\
         [[players]]\nname = 'b'\ncommand = ['run', '{port}']\nenvironment = { KEY = 'v' }\nready_seconds = 0.5\n\
         [[players]]\nname = 'c'\naddress = 'localhost:9147'\n",
        "t.toml",
    )
    .unwrap();
    let clocks: Vec<_> = plan
        .events
        .iter()
        .map(|event| (event.start_clock, event.play_clock, event.games_a_side))
        .collect();
    assert_eq!(clocks, [(7, 1, 3), (20, 2, 5)]);
    assert_eq!(
        (plan.pairs.as_slice(), plan.seed, plan.parallel),
        (&[(1, 0)][..], 9, 2)
    );
    let cores: Vec<usize> = plan.cores.iter().map(|core| core.id).collect();
    assert_eq!(cores, [3, 1, 0, 2]);
    assert_eq!(plan.log_folder, Some("logs".into()));
    let [a, b, c] = plan.players.as_slice() else {
        panic!("{:?}", plan.players)
    };
    assert_eq!((a.version.as_str(), b.version.as_str()), ("x", ""));
    let argv = vec!["run".to_string(), "{port}".to_string()];
    let environment = BTreeMap::from([("KEY".to_string(), "v".to_string())]);
    assert_eq!(b.entry, Entry::Command { argv, environment });
    assert_eq!(b.ready, Duration::from_millis(500));
    let address = "http://localhost:9147".parse().unwrap();
    assert_eq!(c.entry, player(PlayerSpec::Remote(address), &[]));
    assert_eq!(a.entry, player(PlayerSpec::Panza, &["search.threads=1"]));
}

#[test]
fn the_example_explains_what_can_be_read() {
    let text = panza_config::EXAMPLE_TOURNAMENT;
    let plan = Schedule::parse(text, "example").unwrap();
    assert_eq!(
        (plan.players.len(), plan.pairs.len(), plan.events.len()),
        (3, 2, 2)
    );
    for key in [
        "games",
        "games_a_side",
        "start_clock",
        "play_clock",
        "openings",
        "opening_clock",
        "pairs",
        "seed",
        "parallel",
        "cores",
        "log_folder",
        "name",
        "command",
        "environment",
        "version",
        "ready_seconds",
        "builtin",
        "set",
        "address",
    ] {
        // A key may be shown in a comment.
        let shown = ["", "# "].map(|comment| format!("\n{comment}{key} = "));
        let is_shown = shown.iter().any(|line| text.contains(line));
        assert!(is_shown, "{key} is not shown");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table of faults")]
fn faults_are_told_with_their_line() {
    let file = |head: &str, players: &str| format!("{head}\n{players}");
    let player = |keys: &str| format!("{GAMES}{A}[[players]]\n{keys}\n");
    let two = format!("{A}{B}");
    for (text, expected) in [
        ("games = [".to_string(), "t.toml:1: "),
        (
            file("games = []\nfoo = 1", &two),
            "t.toml:2: unknown field `foo`",
        ),
        (file("games = []", &two), "t.toml: `games` is empty"),
        (file("", &two), "t.toml:1: missing field `games`"),
        (
            file("games = [\n'ticTacToe',\n3]", &two),
            "t.toml:3: invalid type: integer `3`, expected the name of a game",
        ),
        (
            file("games = [\n'tictactoe']", &two),
            "t.toml:2: no game `tictactoe`; did you mean `ticTacToe` or",
        ),
        (
            file("games = ['hex',\n'hex']", &two),
            "t.toml:2: `hex` appears twice",
        ),
        (
            file("games = [\n{ game = 'hex', play_clock = 0 }]", &two),
            "t.toml:2: `play_clock` is 0; 1 to 86400",
        ),
        (
            file("games = [{ game = 'hex', clock = 0 }]", &two),
            "t.toml:1: unknown field `clock`",
        ),
        (
            file("games = ['hex']\n\nstart_clock = 100000", &two),
            "t.toml:3: `start_clock` is 100000; 1 to 86400",
        ),
        (
            file("games = ['hex']\ngames_a_side = 0", &two),
            "t.toml:2: `games_a_side` is 0",
        ),
        (
            file("games = [{ game = 'hex', openings = 'nowhere' }]", &two),
            "t.toml:1: cannot read `nowhere`",
        ),
        (
            file("games = [{ game = 'hex', opening_clock = 1 }]", &two),
            "t.toml:1: `opening_clock` goes with `openings` only",
        ),
        (
            file("games = ['hex']\nparallel = 0", &two),
            "t.toml:2: `parallel` is 1 to 1024",
        ),
        (
            file("games = ['hex']\ncores = [0, 0]", &two),
            "t.toml:2: `cores` names a core twice",
        ),
        (
            file("games = ['hex']\nparallel = 2\ncores = [0, 1]", &two),
            "t.toml:3: `cores` has 2; 4 were expected",
        ),
        (
            file("games = ['hex']\npairs = [['a', 'x']]", &two),
            "t.toml:2: no player `x`; there are a, b",
        ),
        (
            file("games = ['hex']\npairs = [['a', 'a']]", &two),
            "t.toml:2: a pair is two different players",
        ),
        (
            file("games = ['hex']\npairs = [['a']]", &two),
            "t.toml:2: a pair is two names",
        ),
        (
            file("games = ['hex']\npairs = [['a', 'b'], ['b', 'a']]", &two),
            "t.toml:2: this pair appears twice",
        ),
        (
            file("games = ['hex']\npairs = []", &two),
            "t.toml: `pairs` is empty",
        ),
        (
            format!("{GAMES}{A}"),
            "t.toml: expected at least two [[players]], found 1",
        ),
        (format!("{GAMES}{A}{A}"), "t.toml:5: a second player `a`"),
        (
            player("name = ' b'\nbuiltin = 'legal'"),
            "t.toml:5: a player's `name` is 1 to 40 characters",
        ),
        (
            player("name = 'b|c'\nbuiltin = 'legal'"),
            "t.toml:5: player `b|c`: a name has letters",
        ),
        (
            player("name = 'b'"),
            "t.toml:5: player `b`: exactly one of `builtin`, `address` and `command`",
        ),
        (
            player("name = 'b'\nbuiltin = 'legal'\naddress = 'h:1'"),
            "t.toml:5: player `b`: exactly one of",
        ),
        (
            player("name = 'b'\nbuiltin = 'http://h:1'"),
            "t.toml:5: player `b`: `builtin` is panza, random or legal",
        ),
        (
            player("name = 'b'\naddress = 'h'"),
            "t.toml:5: player `b`: `address` is HOST:PORT",
        ),
        (
            player("name = 'b'\ncommand = []"),
            "t.toml:5: player `b`: `command` is a program",
        ),
        (
            player("name = 'b'\ncommand = ['run']"),
            "t.toml:5: player `b`: `command` has {port} where",
        ),
        (
            player("name = 'b'\nbuiltin = 'legal'\nready_seconds = -1.0"),
            "t.toml:5: player `b`: `ready_seconds` is above 0",
        ),
        (
            player("name = 'b'\nbuiltin = 'legal'\nenvironment = { A = 'b' }"),
            "t.toml:5: player `b`: `environment` goes with `command`",
        ),
        (
            player("name = 'b'\naddress = 'h:1'")
                .replace("games = ['ticTacToe']", "games = ['ticTacToeThree']"),
            "t.toml: player `b` is reached at an address and plays one role of one match",
        ),
        (
            player("name = 'b'\naddress = 'h:1'").replace("games =", "parallel = 2\ngames ="),
            "t.toml: player `b` is reached at an address",
        ),
    ] {
        let message = fault(&text);
        assert!(
            message.starts_with(expected),
            "{message}\nis not\n{expected}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
