import ApsuleKit
import Glibc
import HostCore
import ScriptRuntime
import ScriptText
import Synchronization
import Testing

@Suite struct ValueTests {
    @Test(arguments: [
        ("{ n: NaN }", "n: expected a finite number, got NaN"),
        ("{ list: [1, { x: -Infinity }] }", "list[1].x: expected a finite number, got -Infinity"),
        ("{ f() {} }", "f: expected a value that JSON has, got a function"),
        ("{ s: Symbol('q') }", "s: expected a value that JSON has, got a symbol"),
        ("{ list: [undefined] }", "list[0]: expected a value that JSON has, got undefined"),
        ("{ text: 'a\\ud800b' }", "text: expected well-formed Unicode, got a lone surrogate"),
        ("{ ['k\\udfff']: 1 }", #"["k\udfff"]: expected well-formed Unicode, got a lone surrogate"#),
        ("{ big: 2n ** 63n }", "big: expected an integer of 64 bits, got a larger BigInt"),
        ("{ big: -(2n ** 63n) - 1n }", "big: expected an integer of 64 bits, got a larger BigInt"),
        ("{ m: new Map() }", "m: expected a plain object or array, got a Map"),
        ("{ p: Promise.resolve(1) }", "p: expected a plain object or array, got a Promise (is an await missing?)"),
        (
            "(() => { const a = { b: [] }; a.b.push(a); return a; })()",
            "b[0]: expected a value that does not contain itself, got a cycle"
        ),
        ("{ 'x-y': { '1': NaN } }", #"["x-y"]["1"]: expected a finite number, got NaN"#),
    ])
    func refuses(_ value: String, _ message: String) throws {
        let port = try CallTests.port()
        let lines = Project.output(
            port, "await host.echo.back(\(value)).catch((e) => console.log(e.code + '|' + e.message));")
        #expect(lines == ["host.invalid_argument|" + message])
        #expect(port.started.isEmpty)
    }

    @Test func carriesWhatItMay() throws {
        let port = try CallTests.port()
        let lines = Project.output(
            port,
            """
            const back = async (value) => (await host.echo.back({ value })).value;
            const big = await back([2n ** 63n - 1n, -(2n ** 63n), 9007199254740993n, 5n]);
            console.log(big);
            console.log(await back([2 ** 60, 1e300, -0.5, 2 ** 53 - 1]));
            console.log(await back(new Date(0)), await back([new Number(1), new String("s"), new Boolean(false)]));
            console.log(await back(Object.assign(Object.create(null), { a: 1 })), await back(new (class Point { x = 1 })()));
            console.log(await back("\\u{1F600}\\u0000\\"$"), await back({ "ключ": 1, "": 2 }));
            console.log(typeof (await host.echo.quick({ n: 2n ** 60n })).n);
            """)
        #expect(
            lines
                == [
                    "[ 9223372036854775807n, -9223372036854775808n, 9007199254740993n, 5 ]",
                    "[ 1152921504606847000, 1e+300, -0.5, 9007199254740991 ]",
                    "1970-01-01T00:00:00.000Z [ 1, 's', false ]", "{ a: 1 } { x: 1 }",
                    "\u{1F600}\u{0}\"$ { 'ключ': 1, '': 2 }", "bigint",
                ].map { $0.replacing("'ключ'", with: "ключ") })
        #expect(port.started[0].text == #"{"value":[9223372036854775807,-9223372036854775808,9007199254740993,5]}"#)
    }

    @Test func integersAreNeverRounded() throws {
        let port = try CallTests.port()
        port.on("echo.hang") { call in
            call.reply(
                Payload(
                    json: Array(
                        #"{"a":9007199254740991,"b":9007199254740992,"c":-9223372036854775808,"d":"12345678901234567890","e":1.2345678901234567890,"f":18446744073709551615}"#
                            .utf8)))
        }
        let lines = Project.output(
            port, "const r = await host.echo.hang(); for (const k in r) console.log(k, typeof r[k], String(r[k]));")
        #expect(
            lines == [
                "a number 9007199254740991", "b bigint 9007199254740992", "c bigint -9223372036854775808",
                "d string 12345678901234567890", "e number 1.2345678901234567", "f bigint 18446744073709551615",
            ])
    }

    @Test func keysCannotForgeABlob() throws {
        let port = try CallTests.port()
        let lines = Project.output(
            port,
            """
            console.log(await host.echo.back({ a: { $blob: 0 }, $x: { $$y: 1 }, list: [{ $blob: 7 }] }));
            console.log(await host.echo.quick({ a: { $blob: 0 } }));
            console.log((await host.echo.back({ bytes: new Uint8Array([1, 2]), fake: { $blob: 0 } })));
            """)
        #expect(port.started[0].text == #"{"a":{"$$blob":0},"$$x":{"$$$y":1},"list":[{"$$blob":7}]}"#)
        #expect(
            lines == [
                "{ a: { $blob: 0 }, $x: { $$y: 1 }, list: [ { $blob: 7 } ] }", "{ a: { $blob: 0 } }",
                "{ bytes: Uint8Array(2) [ 1, 2 ], fake: { $blob: 0 } }",
            ])
    }

    @Test func protoKeysAreData() throws {
        let port = try CallTests.port()
        let lines = Project.output(
            port,
            """
            const evil = JSON.parse('{"__proto__": {"polluted": 1}, "big": 9, "$k": 1}');
            for (const answer of [await host.echo.back(evil), await host.echo.back(JSON.parse('{"__proto__":{"polluted":1}}'))]) {
                console.log(Object.hasOwn(answer, "__proto__"), Object.getPrototypeOf(answer) === Object.prototype, answer.polluted);
            }
            console.log({}.polluted, (await host.echo.back({ ...evil, n: 2n ** 60n })).n);
            const store = await host.echo.store("a", 1, {});
            console.log(Object.keys(await host.echo.store("a", JSON.parse('{"__proto__":1}'))).length);
            """)
        #expect(port.started[0].text == #"{"__proto__":{"polluted":1},"big":9,"$$k":1}"#)
        #expect(lines == ["true true undefined", "true true undefined", "undefined 1152921504606846976n", "2"])
    }

    @Test func boundsDepthAndSize() throws {
        let port = try CallTests.port()
        let lines = Project.output(
            port,
            """
            const nest = (n) => { let v = {}; for (let i = 1; i < n; i++) v = i % 2 ? { v } : { list: [v] }.list && { v }; return v; };
            const say = (call) => call.then(() => console.log("ok"), (e) => console.log(e.code, e.details.limit));
            await say(host.echo.back(nest(64)));
            await say(host.echo.back(nest(65)));
            await say(host.echo.back(nest(10000)));
            await say(host.echo.back({ a: "x".repeat(8 * 1024 * 1024) }));
            await say(host.echo.back({ a: "x".repeat(100e6) }));
            await say(host.echo.back({ a: Array(3e6).fill(1234) }));
            await say(host.echo.back({ a: "x".repeat(7e6), $b: 1 }));
            const blob = new Uint8Array(129 * 1024 * 1024);
            await say(host.echo.back({ a: blob, b: blob }));
            """)
        #expect(
            lines == [
                "ok", "host.payload_too_deep 64", "host.payload_too_deep 64", "host.payload_too_large 8388608",
                "host.payload_too_large 8388608", "host.payload_too_large 8388608", "ok",
                "host.payload_too_large 268435456",
            ])
        #expect(port.started.count == 2)
    }

    /// A plugin may keep what it has given, and may have given it to others: a script writes into memory of its own.
    @Test func whatAScriptWritesReachesNoPlugin() throws {
        let port = try CallTests.port()
        // Not writable, as a plugin's constants are: a script that got it would end this process.
        let size = 1 << 16
        let page = mmap(nil, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        let theirs = Blob(UnsafeRawBufferPointer(start: page, count: size)) { munmap(page, size) }
        port.on("echo.later") { call in
            let blobs = [theirs, Blob([UInt8](repeating: 3, count: size))]
            call.reply(Payload(json: Array(#"[{"$blob":0},{"$blob":1}]"#.utf8), blobs: blobs))
        }
        let lines = Project.output(
            port,
            """
            const [theirs, ours] = await host.echo.later();
            theirs.fill(9); ours.fill(8);
            console.log(theirs[0], theirs.length, ours[0], ours.length);
            """)
        #expect(lines == ["9 65536 8 65536"])
        #expect(theirs.withBytes { $0.allSatisfy { $0 == 0 } })
    }

    @Test func anAnswerOfBytesAloneIsAnArray() throws {
        let port = try CallTests.port()
        let answers = Mutex<[Payload]>([
            Payload(json: Array(#"{"$blob":0}"#.utf8), blobs: [Blob([1, 2])]),
            Payload(json: Array(#"{"$blob":0}"#.utf8), blobs: [Blob([UInt8](repeating: 3, count: 65_536))]),
            Payload(json: Array(#"{"$blob":1}"#.utf8), blobs: [Blob([4]), Blob([5])]),
            Payload(json: Array(#"{"$blob":0}"#.utf8)),
        ])
        port.onInline("echo.quick") { _ in answers.withLock { .success($0.removeFirst()) } }
        let record = Project(port).run(
            """
            console.log(await host.echo.quick());
            const large = await host.echo.quick();
            large[1] = 7;
            console.log(large instanceof Uint8Array, large.length, large[0], large[1], large[65535]);
            console.log(await host.echo.quick(), await host.echo.quick());
            """)
        #expect(record.failure == nil)
        #expect(record.lines == ["Uint8Array(2) [ 1, 2 ]", "true 65536 3 7 3", "Uint8Array(1) [ 5 ] { $blob: 0 }"])
    }

    @Test func blobsCross() throws {
        let port = try CallTests.port()
        let released = Atomic<Int>(0)
        port.on("echo.later") { call in
            #expect(call.arguments.blobs.map(\.count) == [4, 2, 8, 0])
            #expect(call.arguments.blobs[1].withBytes { Array($0) } == [8, 7])
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 100_000, alignment: 16)
            memory.initializeMemory(as: UInt8.self, repeating: 7)
            let large = Blob(UnsafeRawBufferPointer(memory)) {
                memory.deallocate()
                released.add(1, ordering: .sequentiallyConsistent)
            }
            call.reply(
                Payload(
                    json: Array(#"{"large":{"$blob":0},"small":{"$blob":1},"none":{"$blob":5}}"#.utf8),
                    blobs: [large, Blob([1, 2, 3])]))
        }
        let project = Project(port)
        let record = project.run(
            """
            const buffer = new Uint8Array([9, 8, 7, 6]);
            let answer = await host.echo.later({
                a: buffer, b: buffer.subarray(1, 3), c: new Float64Array([1]), d: new ArrayBuffer(0) });
            console.log(answer.large.length, answer.large[99999], answer.small, answer.none);
            answer.large[0] = 1;
            answer = null;
            """)
        #expect(record.failure == nil)
        #expect(record.lines == ["100000 7 Uint8Array(3) [ 1, 2, 3 ] { $blob: 5 }"])
        #expect(released.load(ordering: .sequentiallyConsistent) <= 1)
        project.stop()
        #expect(released.load(ordering: .sequentiallyConsistent) == 1)
    }
}
