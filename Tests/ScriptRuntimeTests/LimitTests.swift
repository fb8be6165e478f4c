import ApsuleKit
import Glibc
import HostCore
import ScriptRuntime
import ScriptText
import Testing

@Suite struct LimitTests {
    @Test func anEndlessLoopIsStoppedAtItsLine() throws {
        let project = Project(try FakePort(), limits: ScriptLimits(turnMs: 200, memoryMB: 4_096))
        let start = Clock.now
        let record = project.run(
            """
            await 1;
            function endless() {
                try { while (true) {} } catch { console.log("caught"); } finally { console.log("finally"); }
            }
            endless();
            """)
        #expect(Clock.now - start < 2_200)
        let failure = try #require(record.failure)
        #expect(failure.code == "script.unresponsive")
        #expect(failure.details["limitMs"] == 200)
        #expect(failure.line == 3)
        #expect(!failure.isStuck)
        #expect(record.lines.isEmpty)
        #expect(project.wait { $0.isStopped })
    }

    @Test(arguments: [
        "setTimeout(() => { for (;;); }, 1)", "Promise.resolve().then(() => { for (;;); })",
        "host.echo.back().then(() => { for (;;); })",
    ])
    func everyKindOfTurnIsWatched(_ text: String) throws {
        let project = Project(try CallTests.port(), limits: ScriptLimits(turnMs: 150, memoryMB: 4_096))
        #expect(project.run(text).failure?.code == "script.unresponsive")
    }

    @Test func shortTurnsMayGoOnForLong() throws {
        let project = Project(try CallTests.port(), limits: ScriptLimits(turnMs: 200, memoryMB: 4_096))
        let record = project.run(
            """
            const until = performance.now() + 500;
            while (performance.now() < until) {
                await host.echo.later();
                const spin = performance.now() + 20;
                while (performance.now() < spin);
            }
            """)
        #expect(record.failure == nil)
    }

    @Test func stoppingInterruptsARunningLoop() throws {
        let project = Project(try FakePort())
        project.runtime.run(Script(path: "main.js", text: "console.log('in'); for (;;);"))
        #expect(project.wait { $0.lines == ["in"] })
        let start = Clock.now
        project.stop()
        #expect(Clock.now - start < 2_000)
        #expect(project.failure == nil)
    }

    @Test func theHeartBeatsWhileTurnsAreShort() throws {
        let project = Project(try FakePort())
        project.runtime.run(Script(path: "main.js", text: "setInterval(() => {}, 10)"))
        #expect(project.wait(5) { $0.beats >= 3 })
        project.stop()
    }

    // What cannot be stopped needs a process of its own.

    @Test func anEndlessChainOfMicrotasksIsReported() async {
        await #expect(processExitsWith: .exitCode(7)) {
            await Self.expectStuck("(async () => { while (true) await null; })()", "script.unresponsive", turnMs: 300)
        }
    }

    @Test func inlineCallsWithoutEndAreReported() async {
        await #expect(processExitsWith: .exitCode(7)) {
            await Self.expectStuck("for (;;) await host.echo.quick()", "script.unresponsive", turnMs: 300)
        }
    }

    @Test func aRunawayExpressionIsReported() async {
        await #expect(processExitsWith: .exitCode(7)) {
            await Self.expectStuck("/(a+)+$/.test('a'.repeat(60) + 'b')", "script.unresponsive", turnMs: 300)
        }
    }

    @Test func aMemoryHogIsStopped() async {
        await #expect(processExitsWith: .exitCode(7)) {
            await Self.expectStuck(
                "const all = []; for (;;) all.push(new Array(1000).fill({}))", "script.out_of_memory", memoryMB: 200)
        }
    }

    @Test func aHogBetweenTurnsIsStopped() async {
        await #expect(processExitsWith: .exitCode(7)) {
            await Self.expectStuck(
                "const all = []; setInterval(() => { for (let n = 0; n < 100; n++) all.push(new Array(1000).fill({})) }, 1)",
                "script.out_of_memory", memoryMB: 200)
        }
    }

    @Test func aHogOfMicrotasksIsReported() async {
        await #expect(processExitsWith: .exitCode(7)) {
            await Self.expectStuck(
                "const all = []; for (;;) { await null; all.push(new Uint8Array(1000).fill(1)) }",
                "script.out_of_memory",
                memoryMB: 200)
        }
    }

    @Test func garbageIsNoReasonToStop() async {
        await #expect(processExitsWith: .exitCode(7)) {
            guard let port = try? FakePort() else { exit(2) }
            let project = Project(port, limits: ScriptLimits(memoryMB: 300))
            let record = project.run(
                """
                const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
                for (let n = 0; n < 200; n++) { new Uint8Array(5e6).fill(1); if (n % 10 === 0) await sleep(1); }
                await sleep(600);
                """)
            exit(record.failure == nil ? 7 : 1)
        }
    }

    /// Ends the process with 7 where the script failed in time and as expected.
    static func expectStuck(_ text: String, _ code: String, turnMs: Int = 60_000, memoryMB: Int = 4_096) async {
        guard let port = try? CallTests.port() else { exit(2) }
        let project = Project(port, limits: ScriptLimits(turnMs: turnMs, memoryMB: memoryMB))
        let start = Clock.now
        let record = project.run(text)
        let isInTime = memoryMB < 4_096 || Clock.now - start < Int64(turnMs) + 2_000
        exit(record.failure?.code == code && isInTime ? 7 : 1)
    }
}
