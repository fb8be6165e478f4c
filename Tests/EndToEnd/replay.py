"""Runs that are recorded and played again, from the outside; see replay.sh."""
import json, os, shutil, signal, stat, subprocess, time

from harness import APSULE, apsule, at_terminal, check, environment, finish, home, project, test, workers
from tapes import HEADER, call, device, lines, same_again, scan, script, tape

QUESTION = "Allow [o]nce, for this [r]un, [a]lways, or [n]ever?"


@test
def a_replay_prints_the_same_and_does_nothing():
    name = "whole"
    r, path = same_again(name, """
        const say = async (f) => { try { console.log(JSON.stringify(await f())); } catch (e) { console.log(e.code, e.message, JSON.stringify(e.details)); } };
        await say(() => host.storage.set("k", { a: [1, 2.5, null, "é", "e\\u0301"], "": {}, $blob: 0, __proto__x: 1 }));
        await say(() => host.storage.get("k"));
        await say(() => host.storage.set("k", "second"));
        await say(() => host.storage.get("k"));
        await say(() => host.storage.get("nothing"));
        await say(() => host.storage.delete("k"));
        await say(() => host.storage.get("k"));
        await say(() => host.storage.get({ key: 5 }));
        await say(() => host.crypto.sha256({ path: "/nowhere/at/all" }));
        await say(async () => [...await host.crypto.sha256({ text: "abc", encoding: "bytes" })]);
        await say(async () => [...await host.crypto.base64Decode({ base64: "AP8K", encoding: "bytes" })]);
        await say(async () => host.crypto.base64Encode({ base64: new Uint8Array([0, 255, 10]) }));
        await say(async () => (await host.device.info()).memory.freeBytes);
        await say(async () => (await host.device.info()).uptimeSeconds);
        await say(() => host.timer.sleep(30));
        const big = await host.storage.set("big", 9223372036854775807n).then(() => host.storage.get("big"));
        console.log(typeof big, String(big));
        throw new Error("the end");
        """)
    check(r.code == 1 and "the end" in r.err and r.out.count("\n") == 16, r)
    other = os.path.join(home, "elsewhere")
    # In a home without the data of the recorded run, and without writing there either.
    again = apsule("run", os.path.join(home, name + ".js"), "--allow", "storage", "--replay", path, "--speed", "max", HOME=other)
    check(again.out == r.out, (r, again))
    empty = apsule("run", script("empty", 'console.log(JSON.stringify(await host.storage.list()))'), "--allow", "storage", HOME=other)
    check('"big"' not in empty.out and empty.code == 0, empty)


@test
def equal_calls_at_once_are_answered_in_the_order_of_the_script():
    for round in range(4):
        same_again(f"crowd{round}", """
            const all = [await host.storage.get("n")];
            for (let i = 0; i < 60; i++) { all.push(host.storage.set("n", i)); all.push(host.storage.get("n")); }
            console.log(JSON.stringify(await Promise.all(all)));
            """, times=2)


@test
def a_call_that_timed_out_times_out_again():
    r, path = same_again("late", """
            try { await host.timer.sleep(5000, { timeoutMs: 1500 }); } catch (e) { console.log(e.code, e.message); }
            const abort = new AbortController(); setTimeout(() => abort.abort(), 1000);
            try { await host.timer.sleep(7000, { signal: abort.signal }); } catch (e) { console.log(e.name, e.code); }
            """, permissions=())
    check(r.out == "host.timeout timer.sleep took longer than its timeout.\nHostError host.cancelled\n", r)


@test
def streams_are_iterated_called_back_and_cancelled():
    path = tape("stream", *scan(
        (5, {"event": "device", "value": device("One")}), (9, {"reply": {}}), (20, {"event": "device", "value": device("Two")}),
        (30, {"event": "gone", "value": {"id": "One", "name": "One", "silentMs": 4000}}), (60, {"end": [device("Two")]})),
        *scan((5, {"reply": {}}), (9, {"event": "device", "value": device("Three")}),
              (90000, {"event": "device", "value": device("Four")}), (90001, {"cancel": True}), (90002, {"end": [device("Three")]}),
              number=2, start=100, durationMs=0),
        *scan((5, {"reply": {}}), (9, {"event": "device", "value": device("Five")}), (10, {"fail": {
            "code": "bluetooth.adapter_off", "message": "It was switched off.", "details": {"reason": "off"}}}),
              number=3, start=200, name="x"))
    r = apsule("run", script("stream", """
        for await (const event of host.bluetooth.scan()) console.log(event.type, event.name);
        const stream = await host.bluetooth.scan({ durationMs: 0 }, (event) => {
          if (event.type === "device") console.log("live", event.name);
          stream.cancel();
        });
        console.log("done", JSON.stringify((await stream.done)?.map((d) => d.name)));
        try { for await (const event of host.bluetooth.scan({ name: "x" })) console.log(event.name); }
        catch (e) { console.log(e.code, e.message, e.details.reason); }
        """), "--allow", "bluetooth", "--replay", path)
    check(r.out.split("\n")[:3] == ["device One", "device Two", "gone One"], r)
    check('live Three\ndone ["Three"]\nFive\nbluetooth.adapter_off It was switched off. off\n' in r.out and "Four" not in r.out, r)
    check(r.code == 0 and r.seconds < 20, r)


@test
def many_events_arrive_whole_and_in_order_though_the_script_dawdles():
    count = 3000
    path = tape("flood", *scan((1, {"reply": {}}), *[(2, {"event": "device", "value": device(str(i))}) for i in range(count)],
                              (3, {"end": []})))
    r = apsule("run", script("flood", f"""
        let next = 0, dropped = 0;
        for await (const event of host.bluetooth.scan()) {{
          if (event.type === "dropped") {{ dropped += event.count; next += event.count; continue; }}
          if (event.name !== String(next++)) throw new Error("wrong order at " + next);
          if (next % 500 === 0) await host.timer.sleep(5);
        }}
        console.log(next);
        """), "--allow", "bluetooth", "--replay", path, "--speed", "max")
    check(r.code == 0 and r.out.strip() == str(count), r)


@test
def permission_is_asked_for_denied_and_noted_as_ever():
    path = tape("guarded", *scan((1, {"reply": {}}), (2, {"event": "device", "value": device("Secret")}), (3, {"end": []})))
    folder = project("guarded", 'for await (const e of host.bluetooth.scan()) console.log("saw", e.name);',
                     {"bluetooth": {"reason": "to look around"}})
    r = apsule("run", folder, "--replay", path)
    check(r.code == 1 and "permission.denied" in r.err and "Secret" not in r.out, r)
    r = at_terminal("run", folder, "--replay", path, answers=[(QUESTION, "n\n")])
    check(r.code == 1 and "to look around" in r.out and "saw Secret" not in r.out, r)
    folder = project("guarded2", 'for await (const e of host.bluetooth.scan()) console.log("saw", e.name);', {"bluetooth": True})
    r = at_terminal("run", folder, "--replay", path, answers=[(QUESTION, "o\n")])
    check(r.code == 0 and "saw Secret" in r.out, r)
    folder = project("undeclared", "await host.bluetooth.scan();")
    r = apsule("run", folder, "--replay", path)
    check(r.code == 1 and "permission." in r.err, r)
    audited = [os.path.join(base, f) for base, _, files in os.walk(home) for f in files if "audit" in base + f]
    text = "".join(open(f).read() for f in audited)
    check(text.count('"bluetooth.scan"') + text.count("bluetooth.scan") >= 2 and "test.guarded" in text, text[-2000:])


@test
def the_bundled_recording_plays_the_scanner():
    example = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../Examples/ble-scanner"))
    r = at_terminal("run", example, "--replay", example + "/rig.jsonl", "--speed", "max", answers=[(QUESTION, "r\n")])
    said = ("found Rig Heart", "found Rig Beacon", "found Rig Sensor", "scan resubscribed", "battery 87 %",
            "heart rate 7", "echo hello", "encrypted value 2a", "link lost: lost")
    check(r.code == 0 and all(text in r.out for text in said), r)
    r = at_terminal("run", example, "--replay", example + "/rig.jsonl", "--speed", "max", answers=[(QUESTION, "n\n")])
    check(r.code == 1 and "permission.denied" in r.out and "found Rig" not in r.out, r)


@test
def a_miss_says_what_was_recorded():
    path = tape("miss", *call(1, "storage.get", {"key": "caf\u00e9"}, 0, (1, {"reply": 1})),
                *call(2, "storage.get", {"key": "other"}, 5, (6, {"reply": 2})))
    r = apsule("run", script("miss", """
        const say = async (f) => { try { console.log(JSON.stringify(await f())); } catch (e) { console.log(e.code, e.message, JSON.stringify(e.details)); } };
        await say(() => host.storage.get("cafe\\u0301"));
        await say(() => host.storage.get("caf\\u00e9"));
        await say(() => host.storage.get("caf\\u00e9"));
        await say(() => host.storage.set("a", 1));
        await say(() => host.storage.get(5));
        await say(async () => (await host.crypto.sha256({ text: "abc" })).length);
        """), "--allow", "storage", "--replay", path)
    out = r.out.split("\n")
    check(out[0].startswith("replay.no_match") and '"differs":["key"]' in out[0] and '"nearest":{"key":"' in out[0], r)
    check(out[1] == "1" and out[2].startswith("replay.no_match") and "once" in out[2] and '"occurrence":2' in out[2], r)
    check(out[3].startswith("replay.no_match storage.set") and out[4].startswith("host.invalid_argument") and out[5] == "64", r)
    for code in ("replay.no_match", "replay.invalid", "replay.ended", "replay.redacted", "replay.recording_stopped"):
        r = apsule("help", code)
        check(r.code == 0 and len(r.out) > 80, r)


@test
def a_killed_run_leaves_a_recording_up_to_then():
    path, name = os.path.join(home, "killed.jsonl"), os.path.join(home, "killed.js")
    script("killed", """
        for (let i = 0; ; i++) { await host.storage.set("n", i); console.log(await host.storage.get("n")); }
        """)
    for victim in ("parent", "worker"):
        if os.path.exists(path):
            os.remove(path)
        p = subprocess.Popen([APSULE, "run", name, "--allow", "storage", "--record", path], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), start_new_session=True)
        end = time.monotonic() + 30
        while (not os.path.exists(path) or os.path.getsize(path) < 20000) and time.monotonic() < end:
            time.sleep(0.01)
        if victim == "parent":
            p.kill()
        else:
            os.kill(workers()[0], signal.SIGKILL)
        p.wait(timeout=20)
        while workers() and time.monotonic() < end:
            time.sleep(0.02)
        r = apsule("run", name, "--allow", "storage", "--replay", path, "--speed", "max")
        seen = r.out.split("\n")[:-1]
        check(len(seen) > 50 and seen == [str(i) for i in range(len(seen))], r)
        check(r.code == 1 and ("replay.ended" in r.err or "replay.no_match" in r.err), r)


@test
def whatever_is_cut_off_is_read_up_to_the_last_whole_line():
    r, path = same_again("cut", 'console.log(await host.crypto.sha256({ text: "abc" })); console.log(await host.crypto.sha512({ text: "é" }));',
                         permissions=(), times=1)
    with open(path, "rb") as f:
        whole = f.read()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    torn = os.path.join(home, "torn.jsonl")
    for end in {start, start + 1, start + 7, (start + len(whole)) // 2, whole.index("é".encode()) + 1, len(whole) - 2}:
        with open(torn, "wb") as f:
            f.write(whole[:end])
        again = apsule("run", os.path.join(home, "cut.js"), "--replay", torn, "--speed", "max")
        check(again.code == 1 and again.out == r.out.split("\n")[0] + "\n", (end, again))
        check("replay.ended" in again.err or "replay.no_match" in again.err, (end, again))
        check((end in (start,)) or "middle of line" in again.err, (end, again))
    with open(torn, "wb") as f:
        f.write(whole[:-1])
    again = apsule("run", os.path.join(home, "cut.js"), "--replay", torn, "--speed", "max")
    check(again.code == 0 and again.out == r.out, again)


@test
def broken_and_hostile_recordings_have_their_defined_answer():
    file = script("hostile", """
        try { const v = await host.storage.get("k"); console.log(typeof v, JSON.stringify(v)?.slice(0, 200), ({}).polluted); }
        catch (e) { console.log(e.code); }
        """)
    key = {"key": "k"}
    reply = lambda number, text: f'{{"t":1,"call":{number},{text}}}'
    begin = '{"t":0,"call":1,"operation":"storage.get","arguments":{"key":"k"}}'
    invalid = {
        "again": (begin, begin), "stranger": (begin, reply(2, '"reply":1')), "nothing": (begin, reply(1, '"x":1')),
        "fraction": (begin, '{"t":1.5,"call":1,"reply":1}'), "past": (begin, '{"t":-1,"call":1,"reply":1}'),
        "text": (begin, '{"t":"1","call":1,"reply":1}'), "array": (begin, "[1,2]"), "empty": (begin, ""),
        "nul": (begin, "\0\0\0\0"), "base64": (begin, reply(1, '"reply":{"$blob":0},"blobs":["*"]')),
        "blobs": (begin, reply(1, '"reply":{"$blob":0},"blobs":"AAAA"')),
        "dangling": (begin, reply(1, '"reply":{"$blob":7},"blobs":["AAAA"]')),
        "deep": (begin, reply(1, '"reply":' + "[" * 100000 + "]" * 100000)),
    }
    for name, broken in invalid.items():
        r = apsule("run", file, "--allow", "storage", "--replay", tape(name, *broken, reply(1, '"reply":1')))
        check(r.code in (1, 6) and "replay.invalid" in r.err and f"{name}.jsonl" in r.err and "line 3" in r.err and not r.out,
              (name, r))
    for name, header in {"header": "{}\n", "version": '{"apsule":"recording","version":2}\n', "manifest": '{"apsule":1}\n',
                         "void": "", "zeros": "\0" * 5000, "utf16": '{"apsule":"recording"'.encode("utf-16").decode("latin-1")}.items():
        path = os.path.join(home, name + ".jsonl")
        with open(path, "w") as f:
            f.write(header)
        r = apsule("run", file, "--allow", "storage", "--replay", path)
        check(r.code in (1, 6) and "replay.invalid" in r.err and "line 1" in r.err and not r.out, (name, r))
    r = apsule("run", file, "--allow", "storage", "--replay", tape("proto", begin, reply(1, '"reply":{"__proto__":{"polluted":1}}')))
    check(r.code == 0 and r.out == 'object {"__proto__":{"polluted":1}} undefined\n', r)
    r = apsule("run", file, "--allow", "storage", "--replay", tape("large", begin, reply(1, '"reply":"' + "x" * (9 << 20) + '"')))
    check(r.code == 0 and r.out == "host.payload_too_large\n", r)
    # An event that the family does not declare is not passed on, and one that ends twice ends once.
    path = tape("undeclared", *scan((1, {"reply": {}}), (1, {"event": "evil", "value": {}}), (2, {"end": []}), (3, {"end": []}),
                                    (3, {"reply": {}})))
    r = apsule("run", script("undeclared", "for await (const e of host.bluetooth.scan()) console.log(e.type); console.log('end');"),
               "--allow", "bluetooth", "--replay", path)
    check(r.code == 0 and r.out == "end\n", r)


@test
def files_that_are_not_ours_to_read_or_write_are_refused():
    file = script("one", 'console.log("ran", await host.storage.get("k"));')
    run = lambda *options, **more: apsule("run", file, "--allow", "storage", *options, timeout=20, **more)
    fifo, link, diary = (os.path.join(home, n) for n in ("fifo", "link.jsonl", "diary.txt"))
    os.mkfifo(fifo)
    with open(diary, "w") as f:
        f.write("dear diary\n")
    os.symlink(diary, link)
    for path in (fifo, link, diary, home, "/dev/null", "/dev/full", "/nowhere/x.jsonl", ""):
        r = run("--record", path)
        check(r.code not in (0, 134, 139) and "host.file" in r.err + "" or "usage." in r.err, (path, r))
        check("ran" not in r.out, (path, r))
    check(open(diary).read() == "dear diary\n")
    for path in (fifo, home, "/dev/zero", "/nowhere/x.jsonl", diary):
        r = run("--replay", path)
        check(r.code not in (0, 134, 139) and ("host.file" in r.err or "replay.invalid" in r.err) and "ran" not in r.out, (path, r))
    for options in (("--speed", "2"), ("--record", "a", "--replay", "a"), ("--replay", "a", "--speed", "0"),
                    ("--replay", "a", "--speed", "-1"), ("--replay", "a", "--speed", "nan"), ("--replay", "a", "--speed", "inf"),
                    ("--replay", "a", "--speed", "fast"), ("--replay", "a", "--speed", ""), ("--record",)):
        r = run(*options)
        check(r.code == 2 and "usage." in r.err, (options, r))
    check(not os.path.exists("a"))


@test
def a_recording_is_for_its_owner_and_one_run_at_a_time():
    path = os.path.join(home, "mine.jsonl")
    file = script("mine", 'await host.storage.set("k", 1); await host.timer.sleep(60000);')
    before = os.umask(0)
    try:
        p = subprocess.Popen([APSULE, "run", file, "--allow", "storage", "--record", path], stdin=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env=environment(), start_new_session=True)
    finally:
        os.umask(before)
    try:
        end = time.monotonic() + 20
        while (not os.path.exists(path) or b"timer.sleep" not in open(path, "rb").read()) and time.monotonic() < end:
            time.sleep(0.02)
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode))
        # What is there so far can be played while the run goes on; another run may not record over it.
        r = apsule("run", script("peek", 'await host.storage.set("k", 1); console.log("played");'), "--allow", "storage", "--replay", path)
        check(r.out == "played\n", r)
        size = os.path.getsize(path)
        r = apsule("run", script("over", 'console.log("ran");'), "--record", path)
        check(r.code != 0 and os.path.getsize(path) == size and "ran" not in r.out, r)
    finally:
        p.send_signal(signal.SIGINT)
        check(p.wait(timeout=20) == 130, p.returncode)
    check(lines(path)[-1].get("fail", {}).get("code") == "host.cancelled", lines(path)[-1])


@test
def what_never_starts_costs_no_recording():
    r, path = same_again("kept", 'console.log(await host.crypto.sha256({ text: "abc" }));', times=1, permissions=())
    before = open(path).read()
    check("sha256" in before)
    folder = project("unbundled", "", entry="main.ts")
    with open(f"{folder}/main.ts", "w") as f:
        f.write('import "./nowhere";')
    check(apsule("run", folder, "--record", path).code != 0 and open(path).read() == before)
    r = apsule("run", os.path.join(home, "nowhere"), "--record", path)
    check(r.code != 0 and open(path).read() == before, r)


@test
def secrets_are_not_in_the_recording():
    secret = "hunter2-" + "s3cret" * 3
    r, path = same_again("secret", f"""
        console.log(await host.crypto.hmac({{ text: "abc", key: "{secret}", algorithm: "sha256" }}));
        console.log(await host.crypto.hmac({{ text: "abc", keyBase64: new TextEncoder().encode("{secret}"), algorithm: "sha256" }}));
        """, permissions=())
    import base64
    text = open(path).read()
    check(r.code == 0 and len(r.out) == 130, r)
    check(secret not in text and base64.b64encode(secret.encode()).decode() not in text, text)
    file = script("random", """
        console.log((await host.crypto.randomUUID()).length);
        try { console.log((await host.crypto.randomBytes({ count: 4 })).length); } catch (e) { console.log(e.code); }
        """)
    r = apsule("run", file, "--record", os.path.join(home, "random.jsonl"))
    check(r.code == 0 and all("reply" not in l or l.get("redacted") for l in lines(os.path.join(home, "random.jsonl"))), r)


@test
def a_family_without_its_library_is_played():
    # The executable and the manifests alone: nothing of bluetooth, not even its plugin, is there.
    bare = os.path.join(home, "bare")
    os.makedirs(bare)
    build = os.path.dirname(APSULE)
    for name in os.listdir(build):
        if name in ("apsule", "apsule-launch", "apsule-worker", "Manifests") or name.startswith("libApsule"):
            source = os.path.join(build, name)
            shutil.copytree(source, f"{bare}/{name}") if os.path.isdir(source) else shutil.copy(source, bare)
    path = tape("bare", *scan((1, {"reply": {}}), (2, {"event": "device", "value": device("Far")}), (3, {"end": [device("Far")]})))
    file = script("bare", "for await (const e of host.bluetooth.scan()) console.log(e.name);")
    p = subprocess.run([f"{bare}/apsule", "run", file, "--allow", "bluetooth", "--replay", path], env=environment(),
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    check(p.returncode == 0 and p.stdout == "Far\n", p)
    p = subprocess.run([f"{bare}/apsule", "run", file, "--allow", "bluetooth"], env=environment(),
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    check(p.returncode != 0 and "bluetooth" in p.stderr, p)


@test
def a_full_disk_ends_the_recording_but_not_the_run():
    file = script("full", """
        for (let i = 0; i < 40; i++) await host.crypto.sha256({ text: "x".repeat(1000) + i });
        console.log("finished");
        """)
    disk, path = os.path.join(home, "disk"), os.path.join(home, "full.jsonl")
    os.mkdir(disk)
    # A file system of 20 KiB, which goes with the process that made it.
    p = subprocess.run(["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c", '''
        mount -t tmpfs -o size=20k tmpfs "$1" && "$2" run "$3" --record "$1/r.jsonl"; code=$?; cp "$1/r.jsonl" "$4"; exit $code
        ''', "sh", disk, APSULE, file, path], env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    check(p.returncode == 0 and p.stdout == "finished\n" and p.stderr.count("The recording ends here") == 1, p)
    check(10000 < os.path.getsize(path) <= 20480 and all(lines(path)), path)


@test
def a_single_call_is_recorded_and_played():
    path = os.path.join(home, "call.jsonl")
    first = apsule("call", "device.info", "--record", path)
    again = apsule("call", "device.info", "--replay", path, "--speed", "max")
    check(first.code == 0 and again.code == 0 and again.out == first.out, (first, again))
    r = apsule("call", "timer.sleep", "ms:=5", "--replay", path)
    check(r.code == 0, r)
    r = apsule("call", "device.info", "--replay", tape("none", *call(1, "device.info", {"x": 1}, 0)))
    check(r.code == 1 and "replay.no_match" in r.err, r)
    path = tape("scan", *scan((1, {"reply": {}}), (2, {"event": "device", "value": device("A")}), (3, {"end": [device("A")]})))
    r = apsule("call", "bluetooth.scan", "--allow", "bluetooth", "--replay", path)
    check(r.code == 0 and '"A"' in r.out, r)


finish()
