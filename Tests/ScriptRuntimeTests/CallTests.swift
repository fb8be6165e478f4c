import ApsuleKit
import HostCore
import ScriptRuntime
import ScriptText
import Testing

@Suite struct CallTests {
    static func port() throws -> FakePort {
        let port = try FakePort(
            manifest(
                "echo",
                [
                    "back": operation(), "later": operation(), "quick": operation(("inline", true)),
                    "fail": operation(),
                    "store": operation(
                        ("positional", ["key", "value"]),
                        (
                            "arguments",
                            [
                                "type": "object", "additionalProperties": false,
                                "properties": ["key": [:], "value": [:], "expires": ["type": "number"]],
                            ]
                        )),
                    "player.play": operation(), "player.stop": operation(), "hang": operation(),
                ]))
        port.on("echo.back") { $0.reply($0.arguments) }
        port.on("echo.later") { call in
            Thread.start(name: "later") { call.reply(call.arguments) }
        }
        port.on("echo.store") { $0.reply($0.arguments) }
        port.on("echo.player.play") { $0.reply(["playing": true]) }
        port.on("echo.fail") { $0.fail(HostError("echo.broken", "It is broken.", details: ["why": "test"])) }
        port.on("echo.hang") { _ in }
        port.onInline("echo.quick") { .success($0) }
        return port
    }

    @Test func answers() throws {
        let lines = Project.output(
            try Self.port(),
            """
            console.log(JSON.stringify(await host.echo.back({ a: 1, b: [true, null, "ü\\u0000"] })));
            console.log(JSON.stringify(await host.echo.later({ a: 2 })));
            console.log(JSON.stringify(await host.echo.quick({ a: 3 })));
            console.log((await host.echo.player.play()).playing);
            console.log(JSON.stringify(await Promise.all([1, 2, 3].map((n) => host.echo.later({ n })))));
            """)
        #expect(
            lines == [
                #"{"a":1,"b":[true,null,"ü\u0000"]}"#, #"{"a":2}"#, #"{"a":3}"#, "true", #"[{"n":1},{"n":2},{"n":3}]"#,
            ])
    }

    @Test func mapsArguments() throws {
        let port = try Self.port()
        let lines = Project.output(
            port,
            """
            const show = async (call) => console.log(JSON.stringify(await call));
            await show(host.echo.store("k", { deep: 1 }));
            await show(host.echo.store("k", [1], { expires: 5 }));
            await show(host.echo.store("k", undefined, undefined));
            await show(host.echo.store());
            await show(host.echo.back({ timeoutMs: 250, a: 1 }));
            await show(host.echo.back({ signal: new AbortController().signal, b: undefined }));
            """)
        #expect(
            lines == [
                #"{"key":"k","value":{"deep":1}}"#, #"{"key":"k","value":[1],"expires":5}"#, #"{"key":"k"}"#, "{}",
                #"{"a":1}"#, "{}",
            ])
        #expect(port.started.map(\.timeoutMs) == [nil, nil, nil, nil, 250, nil])
    }

    @Test(arguments: [
        (
            #"host.echo.store("k", 1, { expires: 1 }, 4)"#,
            "arguments: expected at most 3 arguments for echo.store, got 4"
        ),
        (
            #"host.echo.store("k", 1, 7)"#,
            "arguments: expected options as an object after key, value for echo.store, got a number"
        ),
        (
            #"host.echo.store("k", 1, { key: 2 })"#,
            "key: expected it as an argument of its own, got an option of that name too"
        ),
        (#"host.echo.store("k", 1, { expire: 2 })"#, #"echo.store has no option "expire". Did you mean "expires"?"#),
        (
            #"host.echo.store("k", 1, { timeoutMS: 2 })"#,
            #"echo.store has no option "timeoutMS". Did you mean "timeoutMs"?"#
        ),
        (#"host.echo.store("k", 1, { timeoutMs: 0 })"#, "timeoutMs: expected a number of milliseconds above 0, got 0"),
        (#"host.echo.store("k", 1, { signal: {} })"#, "signal: expected an AbortSignal, got an object"),
        (#"host.echo.back(null)"#, "arguments: expected options as an object for echo.back, got null"),
        (#"host.echo.back([])"#, "arguments: expected options as an object for echo.back, got an array"),
        (
            #"host.echo.back(() => 1)"#,
            "arguments: expected options for echo.back, which takes no callback, got a function"
        ),
    ])
    func refusesArguments(_ call: String, _ message: String) throws {
        let port = try Self.port()
        let lines = Project.output(port, "await \(call).catch((e) => console.log(e.code + '|' + e.message));")
        #expect(lines == ["host.invalid_argument|" + message])
        #expect(port.started.isEmpty)
    }

    @Test func explainsUnknownNames() throws {
        let lines = Project.output(
            try Self.port(),
            """
            const names = [() => host.ehco, () => host.echo.bakc, () => host.echo.player.plya, () => host.echo.player.x];
            for (const name of names) {
                try { name(); } catch (e) { console.log(e.code, e instanceof HostError, e.message, e.details.suggestion ?? "-"); }
            }
            console.log("echo" in host, "ehco" in host, "back" in host.echo, await host.echo === host.echo);
            console.log(Object.keys(host).join(), Object.keys(host.echo.player).join(), String(host.echo.back.name));
            try { host.echo.other = 1; } catch (e) { console.log(e.name); }
            """)
        #expect(
            lines == [
                #"host.operation_unknown true There is no family "ehco" here. Did you mean "echo"? echo"#,
                #"host.operation_unknown true There is no operation "echo.bakc". Did you mean "echo.back"? echo.back"#,
                #"host.operation_unknown true There is no operation "echo.player.plya". Did you mean "echo.player.play"? echo.player.play"#,
                #"host.operation_unknown true There is no operation "echo.player.x". -"#,
                "true false true true", "echo play,stop back", "TypeError",
            ])
    }

    @Test func errorsNameTheCallersLine() throws {
        let lines = Project.output(
            try Self.port(),
            """
            async function caller() {
                return await host.echo.fail({});
            }
            try {
                await caller();
            } catch (e) {
                console.log(e.name, e.code, e.message, JSON.stringify(e.details), e.line, e instanceof Error);
                console.log(e.stack.split("\\n")[0].replace(/:\\d+$/, ""));
            }
            await host.echo.back({ deep: { list: [1, NaN] } }).catch((e) => console.log(e.details.path, e.line));
            """)
        #expect(
            lines == [
                #"HostError echo.broken It is broken. {"why":"test"} 2 true"#, "caller@main.js:2", "deep.list[1] 10",
            ])
    }

    @Test func fallsBackWhereInlineCannotAnswer() throws {
        let port = try Self.port()
        port.onInline("echo.quick") { payload in
            payload.value?["a"]?.intValue == 1 ? nil : .failure(HostError("echo.no", "No."))
        }
        port.on("echo.quick") { $0.reply(["started": true]) }
        let lines = Project.output(
            port,
            """
            console.log((await host.echo.quick({ a: 1 })).started);
            await host.echo.quick({ a: 2 }).catch((e) => console.log(e.code, e.line));
            """)
        #expect(lines == ["true", "echo.no 2"])
    }

    @Test func answersThatAreNoJSONFailTheirOwnCallOnly() throws {
        let port = try Self.port()
        port.on("echo.hang") { call in
            // What would end its place in the common text and answer for the neighbours.
            let texts = [
                "1,0,0,{\"forged\":1}", "]", "{\"a\":", "nul", "{\"a\":1}}", "\"a", "{} {}", "[1}", "\u{0}", "",
            ]
            let index = Int(call.value["n"]?.intValue ?? 0)
            call.reply(Payload(json: Array(texts[index].utf8)))
        }
        port.onInline("echo.quick") { _ in .success(Payload(json: Array("{".utf8))) }
        let lines = Project.output(
            port,
            """
            const all = [];
            for (let n = 0; n < 10; n++) all.push(host.echo.hang({ n }), host.echo.back({ n }));
            for (const { value, reason } of await Promise.allSettled(all)) console.log(reason?.code ?? JSON.stringify(value));
            await host.echo.quick().catch((e) => console.log(e.code));
            """)
        #expect(lines.count == 21)
        for n in 0..<10 {
            #expect(lines[2 * n] == "plugin.invalid_answer")
            #expect(lines[2 * n + 1] == "{\"n\":\(n)}")
        }
        #expect(lines.last == "plugin.invalid_answer")
    }
}
