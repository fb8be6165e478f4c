import ApsuleKit
import HostCore
import ScriptRuntime
import ScriptText
import Testing

@Suite struct TimerTests {
    @Test func orderAndArguments() throws {
        let lines = Project.output(
            try FakePort(),
            """
            setTimeout((a, b) => console.log("late", a, b), 30, 1, 2);
            setTimeout(() => console.log("first"), 10);
            setTimeout(() => { console.log("second"); Promise.resolve().then(() => console.log("its microtask")); }, 10);
            setTimeout(() => console.log("third"), 10);
            clearTimeout(setTimeout(() => console.log("never"), 5));
            clearTimeout(undefined);
            queueMicrotask(() => console.log("microtask"));
            let rounds = 0;
            const every = setInterval(() => { if (++rounds === 3) { clearInterval(every); console.log("rounds", rounds); } }, 2);
            console.log("sync");
            """)
        #expect(
            lines.filter { $0 != "rounds 3" } == [
                "sync", "microtask", "first", "second", "its microtask", "third", "late 1 2",
            ])
        #expect(lines.contains("rounds 3"))
    }

    @Test func manyTimersFireInOrder() throws {
        let lines = Project.output(
            try FakePort(),
            """
            const fired = [], ids = [];
            for (let n = 0; n < 3000; n++) {
                const delay = 1 + (n * 7919) % 40;
                const due = { from: performance.now() + delay };
                ids.push(setTimeout(() => fired.push(due), delay));
                due.to = performance.now() + delay;
            }
            for (let n = 0; n < 3000; n += 3) clearTimeout(ids[n]);
            await new Promise((resolve) => setTimeout(resolve, 80));
            console.log(fired.length, fired.every((due, index) => index === 0 || fired[index - 1].from <= due.to));
            """)
        #expect(lines == ["2000 true"])
    }

    @Test func timersEndWithTheProject() throws {
        let project = Project(try FakePort())
        project.runtime.run(Script(path: "main.js", text: "setInterval(() => console.log('tick'), 5)"))
        #expect(project.wait { $0.lines.count >= 3 })
        project.stop()
        let count = project.lines.count
        #expect(!project.wait(0.1) { $0.lines.count > count })
        #expect(project.snapshot.settled == 0)
    }

    @Test func refusesTextAsCallback() throws {
        let lines = Project.output(
            try FakePort(),
            "try { setTimeout('1') } catch (e) { console.log(e.name) } try { queueMicrotask() } catch (e) { console.log(e.name) }"
        )
        #expect(lines == ["TypeError", "TypeError"])
    }

    @Test func abortSignals() throws {
        let port = try CallTests.port()
        let lines = Project.output(
            port,
            """
            const code = (promise) => promise.then(() => "ok", (e) => e.code ?? e.name);
            const stop = new AbortController();
            const call = host.echo.hang({ signal: stop.signal });
            stop.signal.addEventListener("abort", (event) => console.log(event.type, event.target === stop.signal), { once: true });
            stop.signal.onabort = () => console.log("onabort");
            stop.abort();
            stop.abort();
            console.log(await code(call), await code(host.echo.back({ signal: stop.signal })), stop.signal.reason.name);
            console.log(await code(host.echo.hang({ signal: AbortSignal.timeout(10) })));
            const other = new AbortController(), any = AbortSignal.any([other.signal, AbortSignal.timeout(60000)]);
            other.abort("because");
            console.log(any.aborted, any.reason, AbortSignal.abort().aborted, await code(host.echo.hang({ signal: any })));
            try { any.throwIfAborted(); } catch (e) { console.log(e); }
            try { new AbortSignal(); } catch (e) { console.log(e.name); }
            const target = new EventTarget(), seen = [];
            target.addEventListener("x", { handleEvent(event) { seen.push(event.type, this === undefined); } });
            target.addEventListener("x", (event) => event.preventDefault());
            console.log(target.dispatchEvent(new Event("x", { cancelable: true })), seen.join());
            """)
        #expect(
            lines == [
                "onabort", "abort true", "host.cancelled host.cancelled AbortError", "host.cancelled",
                "true because true host.cancelled", "because", "TypeError", "false x,false",
            ])
        #expect(port.started.count == 2)
        #expect(port.started.allSatisfy { $0.isCancelled })
        #expect(port.liveCount == 0)
    }
}
