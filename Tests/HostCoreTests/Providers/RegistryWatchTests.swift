import ApsuleKit
import Foundation
import Glibc
import Synchronization
import Testing

@testable import HostCore

/// Plugins that appear, change and go while the host runs.
@Suite struct RegistryWatchTests {
    let files: PluginFiles
    init() throws { files = try PluginFiles() }

    private func version(_ registry: Registry, _ family: String) -> String? {
        registry.snapshot.entry(family)?.descriptor?.version
    }

    @Test func whatAppearsChangesAndGoesIsNoticed() async throws {
        let registry = files.registry()
        let told = Kept<Int>()
        registry.onChange { told.append($0.entries.count) }
        registry.startWatching()
        registry.startWatching()
        try files.put("demo")
        try await eventually { version(registry, "demo") == "1.0.0" }
        #expect(registry.snapshot.entry("demo")?.status == .quarantined)
        try files.put("demo", version: "1.1.0")
        try await eventually { version(registry, "demo") == "1.1.0" }
        files.remove("demo")
        try await eventually { registry.snapshot.entries.isEmpty }
        #expect(told.takeAll().last == 0)
    }

    @Test func aFileIsReadWhenItIsWhole() async throws {
        let registry = files.registry()
        registry.startWatching()
        let image = PluginFiles.image("demo")
        let file = open(files.path + "/demo.so", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        #expect(write(file, image, image.count / 2) == image.count / 2)
        // Another one makes the registry read the folder while the first is half there.
        try files.put("other")
        try await eventually { version(registry, "other") != nil }
        #expect(!registry.snapshot.entries.contains { $0.path.hasSuffix("/demo.so") })
        let rest = Array(image[(image.count / 2)...])
        #expect(write(file, rest, rest.count) == rest.count)
        close(file)
        try await eventually { version(registry, "demo") == "1.0.0" }
    }

    @Test func aFolderMayGoAndComeBack() async throws {
        try files.put("demo")
        let registry = files.registry()
        registry.startWatching()
        let moved = files.folder.path + "/moved"
        #expect(rename(files.path, moved) == 0)
        try await eventually { registry.snapshot.entries.isEmpty }
        mkdir(files.path, 0o755)
        try files.put("second")
        try await eventually { version(registry, "second") != nil }
        #expect(rename(files.path, moved + "2") == 0)
        #expect(rename(moved, files.path) == 0)
        try await eventually { version(registry, "demo") != nil && version(registry, "second") == nil }
    }

    @Test func aFolderThatIsNotThereYetIsWaitedFor() async throws {
        let path = files.folder.path + "/data/apsule/plugins"
        let registry = Registry(folders: [PluginFolder(path: path, isBundled: false)], hostFamilies: [])
        registry.startWatching()
        for part in ["/data", "/data/apsule", "/data/apsule/plugins"] { mkdir(files.folder.path + part, 0o755) }
        try AtomicFile.write(path + "/demo.so", PluginFiles.image("demo"))
        try await eventually { version(registry, "demo") != nil }
    }

    @Test func whoMayWriteAFileCountsToo() async throws {
        try files.put("demo")
        let registry = files.registry()
        registry.startWatching()
        chmod(files.path + "/libapsule-demo.so", 0o666)
        try await eventually { registry.snapshot.entries.first?.error?.code == "plugin.world_writable" }
        chmod(files.path + "/libapsule-demo.so", 0o644)
        try await eventually { registry.snapshot.entry("demo")?.status == .quarantined }
    }

    @Test func whatAProbeSaidHoldsUntilTheFileChanges() async throws {
        try files.put("demo")
        let registry = files.registry(isBundled: true)
        registry.startWatching()
        registry.mark("demo", .crashed, HostError("plugin.crashed", "It crashed."))
        try files.put("other")
        try await eventually { version(registry, "other") != nil }
        #expect(registry.snapshot.entry("demo")?.status == .crashed)
        registry.refresh()
        #expect(registry.snapshot.entry("demo")?.error?.code == "plugin.crashed")
        try files.put("demo")
        try await eventually { registry.snapshot.entry("demo")?.status == .unprobed }
        #expect(registry.snapshot.entry("demo")?.error == nil)
    }

    @Test func nothingIsToldWhereNothingChanged() throws {
        try files.put("demo")
        let registry = files.registry()
        let told = Kept<Int>()
        registry.onChange { told.append($0.entries.count) }
        registry.refresh()
        registry.refresh()
        #expect(told.takeAll() == [])
    }

    @Test func aWorkerTakesWhatItsParentSees() throws {
        try files.put("demo")
        let parent = files.registry()
        let worker = Registry(folders: [], hostFamilies: [])
        let told = Kept<Int>()
        worker.onChange { told.append($0.entries.count) }
        worker.follow(try JSON(parsing: parent.snapshot.foreign.text), isFirst: true)
        let entry = try #require(worker.snapshot.entry("demo"))
        #expect(entry.status == .quarantined && entry.descriptor?.operation("go") != nil && !entry.isCallable)
        #expect(entry.error?.details["fix"]?.stringValue?.contains("trust demo") == true)
        #expect(told.takeAll() == [])
        files.remove("demo")
        parent.refresh()
        worker.follow(parent.snapshot.foreign)
        #expect(worker.snapshot.entries.isEmpty && told.takeAll() == [0])
    }

    @Test func moreChangesThanTheSystemKeepsAreOne() async throws {
        let entered = DispatchSemaphore(value: 0)
        let go = DispatchSemaphore(value: 0)
        let isFirst = Atomic(true)
        let all = Kept<FolderWatch.Change>()
        let watch = FolderWatch([files.path], for: .files) { changes in
            for change in changes { all.append(change) }
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            entered.signal()
            go.wait()
        }
        try await onThread { [files] in
            try files.put("demo")
            entered.wait()
            // Nobody reads now; two names in turn, since equal neighbours are kept as one.
            let limit =
                (try? String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8))
                .flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 16_384
            for turn in 0...(limit + 1_000) {
                let file = open("\(files.path)/\(turn % 2)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
                close(file)
            }
            go.signal()
        }
        var seen: [FolderWatch.Change] = []
        try await eventually {
            seen += all.takeAll()
            return seen.contains { $0.name.isEmpty && $0.folder == files.path }
        }
        withExtendedLifetime(watch) {}
    }

    @Test func whatCannotBeWatchedIsLookedAtNowAndThen() async throws {
        let ticks = Atomic(0)
        let watch = FolderWatch([files.path + "/" + String(repeating: "x", count: 300)], for: .files) { changes in
            if changes.isEmpty { ticks.add(1, ordering: .relaxed) }
        }
        try await eventually { ticks.load(ordering: .relaxed) > 1 }
        withExtendedLifetime(watch) {}
    }
}
