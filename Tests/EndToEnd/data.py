"""Projects that keep files and tables, from the outside; see data.sh."""
import os, signal, subprocess, time

from harness import APSULE, apsule, check, environment, finish, home, project, test

SAY = """
const say = async (f) => { try { console.log(JSON.stringify(await f())); } catch (e) { console.log(e.code); } };
"""
STORAGE = {"storage": True}


def run(name, script, *options):
    return apsule("run", project(name, SAY + script, STORAGE), "--allow", "storage", *options)


def found(name):
    """Where in the state of this test's user a file of that name is."""
    return [os.path.join(folder, file) for folder, _, files in os.walk(home) for file in files if file == name]


@test
def a_database_keeps_what_it_is_given():
    r = run("sql", """
        const { execute, query } = host.database;
        await execute("CREATE TABLE readings (id INTEGER PRIMARY KEY, at INTEGER, data BLOB)");
        const sets = Array.from({ length: 1000 }, (_, n) => [n + 1, 9007199254740993n, new Uint8Array([n & 255])]);
        console.log((await execute("INSERT INTO readings VALUES (?, ?, ?)", sets)).changes);
        const [row] = await query("SELECT * FROM readings WHERE id = ?", [258]);
        console.log(row.id, row.at === 9007199254740993n, row.data instanceof Uint8Array, row.data[0]);
        await say(() => execute("INSERT INTO readings VALUES (?, ?, ?)", [[5000, 1, null], [1, 1, null]]));
        await say(() => query("SELECT count(*) AS n FROM readings"));
        await say(() => execute("ATTACH '/tmp/other.db' AS other"));
        await say(() => query("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) AS n FROM c",
          [], { timeoutMs: 500 }));
        """)
    check(r.code == 0 and r.out == ("1000\n258 true true 1\ndatabase.constraint\n"
                                    '[{"n":1000}]\ndatabase.not_allowed\nhost.timeout\n'), r)
    again = apsule("run", project("sql", "console.log((await host.database.query('SELECT count(*) AS n FROM readings'))[0].n)", STORAGE),
                   "--allow", "storage")
    check(again.out == "1000\n", again)


@test
def without_permission_nothing_is_kept():
    r = apsule("run", project("closed", SAY + """
        await say(() => host.database.execute("CREATE TABLE t (n)"));
        await say(() => host.files.write("a.txt", { text: "a" }));
        """, STORAGE))
    check(r.out.count("permission.") == 2 and not found("a.txt"), r)


@test
def files_stay_beneath_the_projects_folder():
    r = run("files", """
        await say(() => host.files.write("notes/a.txt", { text: "x" }));
        await host.files.createDirectory("notes");
        await host.files.write("notes/a.txt", { text: "Grüße" });
        console.log((await host.files.read("notes/a.txt")).text);
        for (const path of ["../a", "/etc/passwd", "notes/../../a", "/proc/self/environ", "a\\0b", "x".repeat(256)]) {
          try { await host.files.read(path); console.log("read", path); } catch { }
          try { await host.files.write(path, { text: "a" }); console.log("wrote", path); } catch { }
        }
        await host.files.copy("notes/a.txt", "b.txt");
        await host.files.move("b.txt", "c.txt");
        console.log(JSON.stringify((await host.files.list(".")).entries.map((e) => e.name)));
        """)
    check("Grüße\n" in r.out and "read" not in r.out and "wrote" not in r.out and '["c.txt","notes"]' in r.out, r)
    check(not found("storage.db") or all("/files/" not in path for path in found("storage.db")))


@test
def a_killed_project_loses_nothing_that_was_acknowledged():
    folder = project("killed", """
        await host.database.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY)");
        for (let n = 0; ; n++) { await host.database.execute("INSERT INTO t VALUES (?)", [n]); console.log(n); }
        """, STORAGE)
    p = subprocess.Popen([APSULE, "run", folder, "--allow", "storage"], env=environment(), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, text=True, start_new_session=True)
    for line in p.stdout:
        last = int(line)
        if last >= 50:
            break
    os.killpg(p.pid, signal.SIGKILL)
    p.stdout.close()
    p.wait()
    time.sleep(0.3)
    with open(f"{folder}/main.js", "w") as f:
        f.write("console.log((await host.database.query('SELECT max(n) AS n, count(*) AS c FROM t')).map((r) => r.n + 1 - r.c + ' ' + r.n).join())")
    r = apsule("run", folder, "--allow", "storage")
    gap, greatest = r.out.split()
    check(gap == "0" and int(greatest) >= last, r)


finish()
