import ApsuleKit
import HostCore
import ScriptRuntime
import ScriptText
import Synchronization
import Testing

@Suite struct StreamTests {
    static func port() throws -> FakePort {
        let port = try FakePort(
            manifest(
                "radio",
                [
                    "watch": operation(("kind", "stream"), ("events", ["found": [:], "gone": [:]])),
                    "scan": operation(("kind", "stream"), ("events", ["found": [:]]), ("final", ["type": "array"])),
                    "latest": operation(("kind", "stream"), ("events", ["found": [:]]), ("delivery", "latest")),
                    "connect": operation(
                        ("kind", "stream"), ("events", ["message": [:]]), ("positional", ["url"]),
                        ("arguments", ["type": "object", "properties": ["url": ["type": "string"]]]),
                        ("handle", ["id": "connectionId", "methods": ["send": "radio.send", "close": "radio.close"]])),
                    "send": operation(
                        ("positional", ["connectionId", "data"]),
                        (
                            "arguments",
                            ["type": "object", "properties": ["connectionId": [:], "data": [:], "binary": [:]]]
                        )),
                    "close": operation(
                        ("positional", ["connectionId"]),
                        ("arguments", ["type": "object", "properties": ["connectionId": [:]]])),
                ]))
        port.on("radio.send") { $0.reply($0.arguments) }
        return port
    }

    /// Opens, sends `count` events from another thread, ends.
    static func events(_ count: Int, final: JSON? = nil) -> FakePort.Handler {
        { call in
            call.open()
            Thread.start(name: "events") {
                for n in 0..<count { call.event("found", ["n": .int(Int64(n))]) }
                call.end(final)
            }
        }
    }

    @Test func callback() throws {
        let port = try Self.port()
        port.on("radio.watch", Self.events(1_000))
        let lines = Project.output(
            port,
            """
            let next = 0, ordered = true;
            const handle = await host.radio.watch({ a: 1 }, (event) => {
                if (event.type === "end") return console.log(next, ordered, JSON.stringify(event));
                ordered &&= event.type === "found" && event.n === next++;
            });
            console.log(typeof handle.cancel, handle.done instanceof Promise, await handle.done);
            """)
        #expect(lines.sorted() == [#"1000 true {"type":"end","reason":"finished"}"#, "function true undefined"])
        #expect(port.started[0].text == #"{"a":1}"#)
    }

    @Test func iteration() throws {
        let port = try Self.port()
        port.on("radio.watch", Self.events(500))
        port.on("radio.scan", Self.events(3, final: [1, 2]))
        let lines = Project.output(
            port,
            """
            let sum = 0;
            for await (const { type, n } of host.radio.watch()) sum += type === "found" ? n : 0;
            console.log(sum);
            sum = 0;
            const handle = await host.radio.watch();
            for await (const event of handle) sum += event.n;
            console.log(sum);
            const scan = host.radio.scan();
            for await (const event of scan) console.log(event.n);
            console.log(await scan);
            """)
        #expect(lines == ["124750", "124750", "0", "1", "2", "[ 1, 2 ]"])
    }

    @Test func theIteratorIsAskedBeforeTheHostIs() throws {
        let port = try Self.port()
        port.on("radio.watch") { call in
            call.open()
            for n in 0..<10_000 { call.event("found", ["n": .int(Int64(n))]) }
        }
        port.on("radio.latest") { call in
            call.open()
            for n in 0..<1_000 { call.event("found", ["n": .int(Int64(n))]) }
        }
        let lines = Project.output(
            port,
            """
            const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
            for (const name of ["watch", "latest"]) {
                let count = 0;
                for await (const event of host.radio[name]()) {
                    if (++count === 10) break;
                    await sleep(5);
                }
                console.log(count);
            }
            """)
        #expect(lines == ["10", "10"])
        // No more than a lead was taken; what was left was let go when the loop was left.
        #expect(port.started.allSatisfy { $0.isCancelled })
        #expect(port.liveCount == 0)
    }

    @Test func awaitedForItsFinalValue() throws {
        let port = try Self.port()
        port.on("radio.scan", Self.events(2_000, final: [["id": "a"]]))
        let lines = Project.output(
            port,
            """
            console.log(await host.radio.scan({ durationMs: 10 }));
            host.radio.scan();
            const handle = await host.radio.scan((event) => { if (event.type === "end") console.log(event); });
            console.log(await handle.done);
            """)
        #expect(
            lines.sorted() == [
                "[ { id: 'a' } ]", "[ { id: 'a' } ]", "{ type: 'end', reason: 'finished', final: [ { id: 'a' } ] }",
            ])
    }

    @Test func eventsAreTakenOnce() throws {
        let port = try Self.port()
        port.on("radio.watch") { $0.open() }
        port.on("radio.scan") { $0.open() }
        let lines = Project.output(
            port,
            """
            const say = async (stream) => { try { for await (const event of stream); } catch (e) { console.log(e.code, e.message); } };
            const called = await host.radio.watch(() => {});
            await say(called);
            const twice = await host.radio.watch();
            twice[Symbol.asyncIterator]();
            await say(twice);
            const stop = new AbortController();
            const late = host.radio.scan({ signal: stop.signal });
            await new Promise((resolve) => setTimeout(resolve, 20));
            await say(late);
            stop.abort();
            await late.catch((e) => console.log(e.code));
            await called.cancel();
            await twice.cancel();
            """)
        #expect(
            lines == [
                "host.invalid_argument radio.watch: a callback takes the events.",
                "host.invalid_argument radio.watch: the stream is already being iterated.",
                "host.invalid_argument radio.scan: only its end was awaited, so its events are gone; iterate it at once.",
                "host.cancelled",
            ])
    }

    @Test func cancellingKeepsTheFinalValue() throws {
        let port = try Self.port()
        port.on("radio.scan") { call in
            call.onCancel { call in
                // The plugin takes its time; what it still has counts.
                Thread.start(name: "late") {
                    call.event("found", ["late": true])
                    call.end([1, 2, 3], reason: "cancelled")
                }
            }
            call.open()
            call.event("found", ["n": 0])
        }
        let lines = Project.output(
            port,
            """
            const handle = await host.radio.scan((event) => {
                console.log(JSON.stringify(event));
                if (event.type === "found") handle.cancel().then((list) => console.log("cancel", list));
            });
            console.log("done", await handle.done, await handle.cancel());
            for await (const event of host.radio.scan()) break;
            const stop = new AbortController();
            setTimeout(() => stop.abort(), 10);
            console.log("final", await host.radio.scan({ signal: stop.signal }));
            """)
        #expect(
            lines == [
                #"{"type":"found","n":0}"#, #"{"type":"end","reason":"cancelled"}"#, "cancel [ 1, 2, 3 ]",
                "done [ 1, 2, 3 ] [ 1, 2, 3 ]", "final [ 1, 2, 3 ]",
            ])
    }

    @Test func failures() throws {
        let port = try Self.port()
        let broken = HostError("radio.broken", "It broke.", details: ["why": "test"])
        port.on("radio.watch") { call in
            switch call.value["case"]?.stringValue {
            case "refused": call.fail(broken)
            case "revoked":
                call.open()
                call.end(reason: "revoked")
            default:
                call.open()
                call.event("found", ["n": 1])
                call.fail(broken)
            }
        }
        port.on("radio.scan") { call in
            call.open()
            call.fail(broken)
        }
        let lines = Project.output(
            port,
            """
            const show = (event) => console.log(event.type, event.code, event.reason, event.error instanceof HostError, event.n);
            const handle = await host.radio.watch(show);
            await handle.done.catch((e) => console.log("done", e.code, e.details.why));
            try { for await (const event of host.radio.watch()) show(event); } catch (e) { console.log("loop", e.code, e.line); }
            await host.radio.scan().catch((e) => console.log("final", e.code, e.line));
            await host.radio.watch({ case: "refused" }, show).catch((e) => console.log("refused", e.code));
            try { for await (const event of host.radio.watch({ case: "refused" })); } catch (e) { console.log("refused", e.code); }
            const revoked = await host.radio.watch({ case: "revoked" }, show);
            await revoked.done.catch((e) => console.log("done", e.code));
            try { for await (const event of host.radio.watch({ a: NaN })); } catch (e) { console.log("bad", e.code); }
            """)
        #expect(
            lines == [
                "found undefined undefined false 1", "error radio.broken undefined true undefined",
                "done radio.broken test",
                "found undefined undefined false 1", "loop radio.broken 4", "final radio.broken 5",
                "refused radio.broken",
                "refused radio.broken", "end undefined revoked false undefined", "done permission.revoked",
                "bad host.invalid_argument",
            ])
    }

    @Test func reservedEventsAndOddPayloads() throws {
        let port = try Self.port()
        port.on("radio.watch") { call in
            call.open()
            call.event("dropped", ["count": 3])
            call.event("lost", Payload.null)
            call.event("resubscribed", [:])
            call.event("found", ["type": "forged", "n": 1])
            call.event("found", [1, 2])
            call.event("found", "text")
            call.event("found", Payload(json: Array("{ }".utf8)))
            call.event(
                "found",
                Payload(json: Array(#"{"big":9223372036854775807,"data":{"$blob":0}}"#.utf8), blobs: [Blob([7])]))
            call.event("found", Payload(json: Array("{]".utf8)))
        }
        let lines = Project.output(
            port,
            """
            const handle = await host.radio.watch((event) => console.log(event.type === "error" ? event.code : event));
            await handle.done.catch((e) => console.log(e.code));
            """)
        #expect(
            lines == [
                "{ type: 'dropped', count: 3 }", "{ type: 'lost' }", "{ type: 'resubscribed' }",
                "{ type: 'found', n: 1 }",
                "{ type: 'found', value: [ 1, 2 ] }", "{ type: 'found', value: 'text' }", "{ type: 'found' }",
                "{ big: 9223372036854775807n, data: Uint8Array(1) [ 7 ], type: 'found' }", "plugin.invalid_answer",
                "plugin.invalid_answer",
            ])
    }

    @Test func handlesHaveTheMethodsOfTheirDescriptor() throws {
        let port = try Self.port()
        let connection = Mutex<FakeCall?>(nil)
        port.on("radio.connect") { call in
            connection.withLock { $0 = call }
            call.open(["connectionId": "c7", "protocol": "x"])
            call.event("message", ["n": 1])
        }
        port.on("radio.close") { call in
            call.reply(true)
            connection.withLock { $0 }?.end()
        }
        let lines = Project.output(
            port,
            """
            const socket = await host.radio.connect("ws://x");
            console.log(socket, await socket.send("hello", { binary: true }));
            await socket.send({ connectionId: "other" }, { connectionId: "forged" }).catch((e) => console.log(e.message));
            await socket.close();
            for await (const event of socket) console.log(event);
            console.log("ended", await socket.done);
            // Nobody takes the events of this one; its end is seen all the same.
            await (await host.radio.connect("ws://y")).close();
            """)
        #expect(
            lines == [
                "StreamHandle { connectionId: 'c7', protocol: 'x' } { connectionId: 'c7', data: 'hello', binary: true }",
                "connectionId: expected it as an argument of its own, got an option of that name too",
                "{ type: 'message', n: 1 }", "ended undefined",
            ])
        #expect(port.liveCount == 0)
    }

    @Test func anOpenHandleKeepsTheProjectAlive() throws {
        let port = try Self.port()
        port.on("radio.watch") { $0.open() }
        let project = Project(port)
        project.runtime.run(Script(path: "main.js", text: "await host.radio.watch(); console.log('open')"))
        #expect(project.wait { $0.lines == ["open"] })
        #expect(!project.wait(0.3) { $0.settled > 0 })
        project.stop()
        #expect(port.started[0].isCancelled)
        #expect(project.failure == nil)
    }

    @Test func aCallbackThatThrowsFailsTheProject() throws {
        let port = try Self.port()
        port.on("radio.watch", Self.events(5))
        let record = Project(port).run(
            """
            await host.radio.watch((event) => {
                throw new RangeError("from the callback");
            });
            """)
        #expect(record.failure?.name == "RangeError")
        #expect(record.failure?.line == 2)
    }

    @Test func nothingIsLeftOfAThousandStreams() throws {
        let port = try Self.port()
        port.on("radio.watch") { call in
            call.open()
            for n in 0..<20 { call.event("found", ["n": .int(Int64(n))]) }
        }
        let project = Project(port)
        let record = project.run(
            """
            for (let round = 0; round < 10; round++) {
                const handles = await Promise.all(Array.from({ length: 50 }, () => host.radio.watch(() => {})));
                for (const handle of handles) handle.cancel();
                await Promise.all(Array.from({ length: 50 }, async () => { for await (const event of host.radio.watch()) break; }));
                await Promise.all(handles.map((handle) => handle.done));
            }
            """)
        #expect(record.failure == nil && record.settled == 1)
        #expect(port.started.count == 1_000)
        #expect(port.liveCount == 0)
        let counters = project.counters
        #expect(counters.calls == 0)
        #expect(counters.alive == 0)
        // The table of places is used again instead of growing.
        #expect(counters.places <= 100)
        project.stop()
    }
}
