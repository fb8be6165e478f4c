import ApsuleKit
import Foundation
import HostCore
import TestPrograms
import Testing

/// What every operation of every family keeps to, whoever wrote it and wherever it runs.
@Suite(.serialized)
struct FamilyContractTests {
    private static let families = FamilyRig.registry.snapshot.entries.map(\.family)

    /// What any operation may fail with, besides what it declares.
    private static let common: Set<String> = [
        "host.cancelled", "host.timeout", "host.busy", "host.invalid_argument", "host.payload_too_large",
        "permission.denied", "permission.revoked",
    ]

    private func operations(_ family: String) throws -> [OperationDescriptor] {
        try #require(FamilyRig.registry.snapshot.entry(family)?.descriptor).operations
    }

    @Test func findsTheFamiliesOfThisBuild() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Workshop.repository.path + "/Manifests")
        let names = Set(files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) })
        let built = try FileManager.default.contentsOfDirectory(atPath: Workshop.repository.path + "/Plugins")
        let expected = names.filter { name in
            built.contains { $0.lowercased() == name.lowercased() } || ["runtime", "permissions"].contains(name)
        }
        #expect(Set(Self.families) == expected.union(["everything"]))
        for entry in FamilyRig.registry.snapshot.entries { #expect(entry.error == nil, "\(entry.family)") }
    }

    @Test(arguments: families) func embedsTheManifestOfTheRepository(_ family: String) throws {
        let entry = try #require(FamilyRig.registry.snapshot.entry(family))
        #expect(entry.descriptor?.json == (try FamilyRig.manifest(family)).json)
    }

    /// Each operation answers what fits its schema, with a result or an error that it declares, and ends once.
    @Test(arguments: families, Place.allCases) func dispatchesEveryOperation(_ family: String, _ place: Place)
        async throws
    {
        let rig = try FamilyRig(place, allowing: true)
        defer { rig.dispatcher.close() }
        for operation in try operations(family) {
            let arguments = Samples(operation).fitting
            #expect(operation.arguments.mismatch(in: arguments) == nil, "\(operation.fullName) \(arguments.text)")
            rig.seen.clear()
            let (call, answer) = rig.start(operation, arguments)
            // What takes longer is cancelled; a stream always is.
            try? await eventually(0.5) { answer.count > 0 }
            call.cancel()
            try await eventually { answer.count > 0 && rig.dispatcher.activeCount == 0 }
            try check(operation, rig, answer)
        }
        #expect(rig.console.all.filter { $0.contains("five seconds after it was cancelled") } == [])
    }

    /// Cancelled as soon as it is started: one terminal all the same, or none where the plugin never heard of it.
    @Test(arguments: families, Place.allCases) func endsOnceWhenCancelledAtOnce(_ family: String, _ place: Place)
        async throws
    {
        let rig = try FamilyRig(place, allowing: true)
        defer { rig.dispatcher.close() }
        for operation in try operations(family) {
            let arguments = Samples(operation).fitting
            for round in 0..<5 {
                rig.seen.clear()
                let (call, answer) = rig.start(operation, arguments)
                for _ in 0..<(round * 20) { sched_yield() }
                call.cancel()
                call.cancel()
                try await eventually { answer.count > 0 && rig.dispatcher.activeCount == 0 }
                try check(operation, rig, answer)
            }
        }
        #expect(rig.console.all.filter { $0.contains("five seconds after it was cancelled") } == [])
    }

    private func check(_ operation: OperationDescriptor, _ rig: FamilyRig, _ answer: Answer) throws {
        // Only the C plugin answers more than once, in operations that are there for that.
        let answersTwice = ["everything.twice", "everything.over", "everything.forge"].contains(operation.fullName)
        #expect(answer.count == 1, "\(operation.fullName)")
        for seen in rig.seen.all.values where !answersTwice {
            #expect(seen.terminals == 1, "\(operation.fullName) \(seen)")
        }
        if let error = answer.error {
            let declared = Self.common.union(operation.errors).union(["\(operation.family).unavailable"])
            #expect(declared.contains(error.code), "\(operation.fullName) fails with \(error.code): \(error.message)")
        } else if operation.kind == .stream {
            #expect(answer.ends == 1, "\(operation.fullName)")
        }
    }

    @Test(arguments: families) func refusesEveryMalformedArgumentBeforePluginCode(_ family: String) throws {
        let rig = try FamilyRig(.inProcess, allowing: true)
        defer { rig.dispatcher.close() }
        for operation in try operations(family) {
            let cases = Samples(operation).malformed
            #expect(!cases.isEmpty)
            for (rule, arguments) in cases {
                let (_, answer) = rig.start(operation, arguments)
                let error = try #require(answer.error, "\(operation.fullName): \(rule)")
                #expect(error.code == "host.invalid_argument", "\(operation.fullName): \(rule)")
                #expect(error.details["path"]?.stringValue != nil && error.details["expected"]?.stringValue != nil)
            }
        }
        #expect(rig.seen.all.isEmpty)
    }

    @Test(arguments: families) func deniesEveryUndeclaredPermissionBeforePluginCode(_ family: String) throws {
        let rig = try FamilyRig(.inProcess, allowing: false)
        defer { rig.dispatcher.close() }
        for operation in try operations(family) {
            let arguments = Samples(operation).fitting
            guard !Question(operation, arguments).needs.isEmpty else { continue }
            let (_, answer) = rig.start(operation, arguments)
            #expect(answer.error?.code == "permission.denied", "\(operation.fullName)")
        }
        #expect(rig.seen.all.isEmpty)
    }

    @Test(arguments: families) func declaresErrorsOfItsOwnOrTheHost(_ family: String) throws {
        for operation in try operations(family) {
            for code in operation.errors {
                let parts = code.split(separator: ".", omittingEmptySubsequences: false)
                #expect(
                    parts.count == 2 && parts[1].allSatisfy { $0.isLowercase || $0 == "_" || $0.isNumber }, "\(code)")
                #expect(
                    parts[0] == family || parts[0] == "host" || parts[0] == "permission",
                    "\(operation.fullName): \(code)")
            }
        }
    }
}
