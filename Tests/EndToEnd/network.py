"""Projects that use the network, from the outside; see network.sh."""
import base64, json, os, subprocess

from harness import APSULE, apsule, check, environment, finish, home, project, test

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Rigs/http/server.py")
server = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
ports = json.loads(server.stdout.readline())
HTTP = f"http://127.0.0.1:{ports['http']}"
HTTPS = f"https://localhost:{ports['https']['good']}"
OTHER = f"http://localhost:{ports['http']}"


def policy(**projects):
    """The owner's decisions, with the tests' authority among what the families trust."""
    folder = os.path.join(home, ".config/apsule")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with open(f"{folder}/policy.json", "w") as f:
        json.dump({"apsule": 1, "settings": {"http": {"certificateAuthorities": ports["authority"]}},
                   "projects": {f"test.{name}": {"allow": allow} for name, allow in projects.items()}}, f)
    os.chmod(f"{folder}/policy.json", 0o600)


def run(name, script, hosts, allow, *options):
    policy(**{name: allow})
    permissions = {"network": {"hosts": hosts}, "storage": True}
    return apsule("run", project(name, script, permissions), *options)


SAY = """
const say = async (f) => { try { console.log(JSON.stringify(await f())); } catch (e) { console.log(e.code, e.message); } };
"""


@test
def a_project_asks_a_server_over_tls():
    r = run("tls", SAY + f"""
        const answer = await host.http.request({{ url: "{HTTPS}/echo", method: "POST", json: {{ a: 1 }}, query: {{ q: "ä" }} }});
        console.log(answer.status, answer.type, answer.body.method, answer.body.query);
        const bytes = await host.http.request("{HTTPS}/bytes?n=3").catch((e) => e.code);
        console.log(bytes);
        const raw = await host.http.request({{ url: "{HTTPS}/bytes?n=3" }});
        console.log(raw.body instanceof Uint8Array, [...raw.body].join());
        """, [HTTPS], ["network"])
    check(r.code == 0 and r.out == "200 json POST q=%c3%a4\nhost.invalid_argument\ntrue 0,1,2\n", r)


@test
def what_is_out_of_scope_is_denied_before_and_after_a_redirect():
    r = run("scope", SAY + f"""
        await say(() => host.http.request({{ url: "{OTHER}/echo" }}));
        await say(() => host.http.request({{ url: "{HTTP}/redirect?to={OTHER}/echo" }}));
        await say(() => host.http.request({{ url: "http://2130706433:{ports['http']}/status/204" }}).then((a) => a.status));
        await say(() => host.http.request({{ url: "http://example.com/" }}));
        """, [HTTP], ["network"])
    lines = r.out.splitlines()
    check(r.code == 0 and len(lines) == 4, r)
    check(all(lines[i].startswith("permission.denied") for i in (0, 1, 3)) and lines[2] == "204", r)


@test
def a_name_that_leads_to_this_device_needs_an_entry_for_it():
    r = run("rebind", SAY + f"""
        await say(() => host.http.request({{ url: "http://ip6-localhost:{ports['http']}/echo" }}));
        """, ["ip6-localhost"], ["network"])
    check("permission.denied" in r.out or "http.dns_failed" in r.out, r)


@test
def without_storage_no_file_is_touched():
    policy(files=["network"])
    folder = project("files", SAY + f"""
        await say(() => host.http.request({{ url: "{HTTP}/bytes?n=3", downloadTo: "x" }}));
        await say(() => host.http.request({{ url: "{HTTP}/echo", method: "POST", file: "x" }}));
        await say(() => host.http.request({{ url: "{HTTP}/echo", method: "POST", multipart: [{{ name: "a", file: "x" }}] }}));
        """, {"network": {"hosts": [HTTP]}})
    r = apsule("run", folder)
    check(r.out.count("permission.") == 3, r)


@test
def a_file_goes_down_and_up():
    r = run("updown", SAY + f"""
        const down = await host.http.request({{ url: "{HTTP}/bytes?n=500000", downloadTo: "big.bin" }});
        console.log(down.type, down.body, down.size);
        const up = await host.http.request({{ url: "{HTTP}/echo", method: "PUT", file: "big.bin" }});
        console.log(up.body.body.length);
        console.log(await host.crypto.sha256({{ path: "big.bin" }}) );
        """, [HTTP], ["network", "storage"])
    check(r.code == 0 and r.out.startswith("file big.bin 500000\n666668\n"), r)


@test
def cookies_are_the_projects():
    r = run("jar", SAY + f"""
        await host.http.request({{ url: "{HTTP}/set-cookie?line=a=1%3B%20SameSite=Lax&line=b=2%3B%20HttpOnly" }});
        console.log((await host.cookies.list()).map((c) => c.name + c.value + c.sameSite + c.httpOnly).join());
        await host.cookies.set({{ url: "{HTTP}/", name: "c", value: "3" }});
        const sent = async (more) => (await host.http.request({{ url: "{HTTP}/echo", ...more }})).body.headers
          .filter(([name]) => name.toLowerCase() === "cookie").map(([, value]) => value).join("|");
        console.log(await sent(), "/", await sent({{ cookies: false }}), "/", await sent({{ headers: {{ Cookie: "own=1" }} }}));
        console.log(await host.cookies.delete({{ name: "a" }}), await host.cookies.clear(), (await host.cookies.list()).length);
        """, [HTTP], ["network"])
    check(r.out == "a1laxfalse,b2nulltrue\na=1; b=2; c=3 /  / own=1\n1 2 0\n", r)
    again = run("jar", "console.log((await host.cookies.list()).length)", [HTTP], ["network"])
    check(again.out == "0\n", again)


def play(*steps):
    return "/play?plan=" + base64.b64encode(json.dumps(steps).encode()).decode().replace("+", "%2B")


def send(text):
    return ["send", base64.b64encode(text.encode()).decode()]


@test
def events_of_a_server_arrive():
    stream = play(send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"), ["wait", 20],
                  send("retry: 100\nid: 1\ndata: one\n\n"), send("event: two\ndata: 2\n\n"))
    r = run("sse", SAY + f"""
        let count = 0;
        for await (const event of host.sse.connect({{ url: "{HTTP}{stream}" }})) {{
          console.log(event.type, event.event ?? "", event.data ?? "", event.reconnected ?? "");
          if (++count === 6) break;
        }}
        const source = await host.sse.connect({{ url: "{HTTP}{stream}" }}, () => {{}});
        console.log((await source.close()).closed, (await host.sse.close(source.id)).closed);
        await say(() => host.sse.connect({{ url: "{HTTP}/status/404" }}, () => {{}}));
        await say(() => host.sse.connect({{ url: "{OTHER}/status/404" }}, () => {{}}));
        """, [HTTP], ["network"])
    check(r.code == 0 and r.out.startswith(
        "open   false\nmessage message one \nmessage two 2 \nreconnecting   \nopen   true\nmessage message one \n"
        "true false\nsse.http_status "), r)
    check("permission.denied" in r.out, r)


@test
def transfers_tell_how_far_they_are():
    r = run("transfer", SAY + f"""
        const events = [];
        const download = await host.transfer.download({{ url: "{HTTP}/bytes?n=2000000&cut=900000", path: "big.bin" }},
          (event) => events.push(event.type));
        console.log(typeof download.id, (await download.done).bytes);
        console.log(events[0], events.includes("resuming"), events.at(-2), events.at(-1));
        const up = await host.transfer.upload({{ url: "{HTTP}/echo", path: "big.bin", field: "f" }});
        console.log(up.status, up.body.method);
        const slow = await host.transfer.download({{ url: "{HTTP}/bytes?n=90000000&slow=20", path: "never.bin" }},
          (event) => {{ if (event.type === "cancelled") console.log("cancelled"); }});
        console.log((await host.transfer.cancel(slow.id)).cancelled);
        await say(() => slow.done);
        await say(() => host.http.request({{ url: "{HTTP}/echo", method: "POST", file: "never.bin" }}));
        """, [HTTP], ["network", "storage"])
    check(r.code == 0 and r.out.startswith(
        "string 2000000\nstart true complete end\n200 POST\n"), r)
    check("true\n" in r.out and "cancelled\n" in r.out and "host.cancelled" in r.out and "http.not_found" in r.out, r)
    files = [name for _, _, names in os.walk(home) for name in names]
    check("big.bin" in files and not [f for f in files if f == "never.bin" or f.startswith(".apsule-")], files)


@test
def a_killed_download_leaves_no_file():
    policy(killed=["network", "storage"])
    folder = project("killed", f"""
        await host.transfer.download({{ url: "{HTTP}/bytes?n=900000000&slow=20", path: "half.bin" }},
          (event) => console.log(event.type));""", {"network": {"hosts": [HTTP]}, "storage": True})
    p = subprocess.Popen([APSULE, "run", folder], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         text=True, start_new_session=True)
    check(p.stdout.readline() == "start\n" and p.stdout.readline() == "progress\n")
    p.kill()
    p.wait()
    files = [name for _, _, names in os.walk(home) for name in names]
    check(not [f for f in files if f == "half.bin" or f.startswith(".apsule-")], files)


@test
def no_secret_is_shown_or_kept():
    tape = os.path.join(home, "secrets.jsonl")
    r = run("secrets", SAY + f"""
        await say(() => host.http.request({{ url: "{HTTP.replace('://', '://name:S3cret-url@')}/echo" }}));
        await say(async () => (await host.http.request({{ url: "{HTTP}/status/200", cookies: false,
          headers: {{ Authorization: "Bearer S3cret-a", "X-Api-Key": "S3cret-k", Cookie: "S3cret-c=1" }} }})).status);
        await say(async () => (await host.http.request({{ url: "{HTTP}/set-cookie?line=id=S3cret" }})).status);
        await host.cookies.set({{ url: "{HTTP}/", name: "n", value: "S3cret-s" }});
        await host.cookies.list();
        """, [HTTP], ["network"], "--record", tape)
    check(r.code == 0, r)
    with open(tape) as f:
        recorded = f.read()
    with open(os.path.join(home, ".local/state/apsule/audit.jsonl")) as f:
        audit = f.read()
    for place, text in [("console", r.out + r.err), ("audit", audit)]:
        check("S3cret" not in text, (place, text))
    for secret in ["S3cret-url", "S3cret-a", "S3cret-k", "S3cret-c", "S3cret-s"]:
        check(secret not in recorded, (secret, recorded))


@test
def the_command_line_asks_too():
    r = apsule("call", "http.request", f"url={HTTP}/status/201", "--allow", "network")
    check(r.code == 3 and "permission.denied" in r.err, r)
    help = apsule("help", "http.certificate_invalid")
    check(help.code == 0 and "certificateAuthorities" in help.out, help)


@test
def a_stopped_project_leaves_no_connection():
    policy(stop=["network"])
    stall = play(["stall"])
    folder = project("stop", f'console.log("asking"); await host.http.request({{ url: "{HTTP}{stall}" }});',
                     {"network": {"hosts": [HTTP]}})
    p = subprocess.Popen([APSULE, "run", folder], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         text=True, start_new_session=True)
    check(p.stdout.readline() == "asking\n")
    while json.loads(server.stdout.readline()).get("path") != stall:
        pass
    p.kill()
    p.wait()
    while json.loads(server.stdout.readline()).get("ended") != stall:
        pass


server.stdin.close()
server.wait()
finish()
