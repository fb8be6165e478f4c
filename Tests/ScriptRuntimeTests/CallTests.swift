import ApsuleKit
import HostCore
import ScriptRuntime
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
}
