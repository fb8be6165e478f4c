import ApsuleKit
import Foundation
import Glibc
import Testing

@testable import HostCore

@Suite struct PluginImageTests {
    private static let descriptor = Array(#"{"apsule":1}"#.utf8)

    /// The code of the error that reading or checking gives, nil where there is none.
    private func code(_ bytes: [UInt8], family: String = "demo") -> String? {
        do throws(HostError) {
            try PluginImage(bytes).check(family: family)
            return nil
        } catch {
            return error.code
        }
    }

    private func code(_ change: (inout ELFBuilder) -> Void) -> String? {
        var builder = ELFBuilder()
        change(&builder)
        return code(builder.build())
    }

    @Test(arguments: [true, false]) func aSoundLibraryIsRead(usesGNUHash: Bool) throws {
        var builder = ELFBuilder()
        builder.usesGNUHash = usesGNUHash
        builder.needed = ["libc.so.6", "libm.so.6"]
        let image = try PluginImage(builder.build())
        #expect(image.descriptor == Self.descriptor)
        #expect(image.needed == ["libc.so.6", "libm.so.6"])
        #expect(image.runPath == nil && !image.needsExecutableStack)
        try image.check(family: "demo")
        #expect(code(builder.build(), family: "dem") == "plugin.entry_missing")
        #expect(code(builder.build(), family: "demo2") == "plugin.entry_missing")
    }

    @Test func anOpenFileReadsLikeItsBytes() throws {
        let path = NSTemporaryDirectory() + "plugin-image-\(UUID().uuidString).so"
        try Data(ELFBuilder().build()).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        let file = open(path, O_RDONLY)
        defer { close(file) }
        let image = try PluginImage(fileDescriptor: file)
        #expect(image.descriptor == Self.descriptor)
        try image.check(family: "demo")
        // A file that shrinks meanwhile is an error and no SIGBUS.
        truncate(path, 200)
        #expect(throws: HostError.self) { try image.check(family: "demo") }
        #expect(throws: HostError.self) { try PluginImage(fileDescriptor: file) }
    }

    @Test func whatIsNoRegularFileIsRefused() {
        for path in ["/dev/null", "/tmp", "/dev/zero"] {
            let file = open(path, O_RDONLY)
            defer { close(file) }
            #expect(throws: HostError.self) { try PluginImage(fileDescriptor: file) }
        }
        #expect(throws: HostError.self) { try PluginImage(fileDescriptor: -1) }
    }

    @Test func everyFaultHasItsCode() {
        #expect(code { _ in } == nil)
        #expect(code([]) == "plugin.not_elf")
        #expect(code(Array("#!/bin/sh\n".utf8)) == "plugin.not_elf")
        #expect(code { $0.machine = 8 } == "plugin.wrong_machine")
        #expect(code { $0.bits = 1 } == "plugin.wrong_machine")
        #expect(code { $0.byteOrder = 2 } == "plugin.wrong_machine")
        #expect(code { $0.type = 2 } == "plugin.not_library")
        #expect(code { $0.flags1 = 0x0800_0000 } == "plugin.not_library")
        #expect(code { $0.searchPath = (29, "$ORIGIN") } == "plugin.runpath")
        #expect(code { $0.searchPath = (15, "/tmp") } == "plugin.runpath")
        #expect(code { $0.stackFlags = 7 } == "plugin.executable_stack")
        #expect(code { $0.stackFlags = nil } == "plugin.executable_stack")
        #expect(code { $0.sectionName = "apsule_famil" } == "plugin.descriptor_missing")
        #expect(code { $0.sectionName = "apsule_familyx" } == "plugin.descriptor_missing")
        #expect(code { $0.descriptors = [] } == "plugin.descriptor_missing")
        #expect(code { $0.descriptors = [[]] } == "plugin.descriptor_missing")
        #expect(code { $0.descriptors = [[0, 0, 0, 0]] } == "plugin.descriptor_missing")
        #expect(code { $0.sectionType = 8 } == "plugin.damaged")
        #expect(code { $0.sectionFlags = 0x802 } == "plugin.damaged")
        #expect(code { $0.segmentSize = { $0 + 1 } } == "plugin.truncated")
        #expect(code { $0.segmentSize = { _ in .max } } == "plugin.truncated")
        #expect(code { $0.symbol = "apsule_plugin_demos" } == "plugin.entry_missing")
        #expect(code { $0.symbolSection = 0 } == "plugin.entry_missing")
        #expect(code { $0.symbolVisibility = 2 } == "plugin.entry_missing")
        #expect(code { $0.symbolInfo = 0x02 } == "plugin.entry_missing")
        #expect(code { $0.symbolInfo = 0x11 } == "plugin.entry_missing")
        #expect(code { $0.symbolInfo = 0x22 } == nil)
        #expect(code { $0.needed = Array(repeating: "x", count: 1_025) } == "plugin.damaged")
    }

    @Test func aBundledPluginMayHaveASearchPath() throws {
        var builder = ELFBuilder()
        builder.searchPath = (29, "$ORIGIN")
        let image = try PluginImage(builder.build())
        #expect(image.runPath == "$ORIGIN")
        try image.check(family: "demo", isBundled: true)
        let error = try #require(throws: HostError.self) { try image.check(family: "demo") }
        #expect(error.details["path"] == "$ORIGIN")
    }

    @Test func sectionsOfOneNameAreJoined() throws {
        var builder = ELFBuilder()
        builder.descriptors = [Array(#"{"a"#.utf8) + [0, 0], [0], Array(#"psule":1}"#.utf8)]
        #expect(try PluginImage(builder.build()).descriptor == Self.descriptor)
        builder.usesExtendedNumbering = true
        #expect(try PluginImage(builder.build()).descriptor == Self.descriptor)
    }

    @Test func theDescriptorIsBounded() throws {
        let half = [UInt8](repeating: 32, count: PluginImage.largestDescriptor / 2)
        var builder = ELFBuilder()
        builder.descriptors = [half, half]
        #expect(try PluginImage(builder.build()).descriptor.count == PluginImage.largestDescriptor)
        builder.descriptors.append([32])
        #expect(code(builder.build()) == "plugin.descriptor_too_large")
        // Zero bytes are left out of the descriptor, but reading them costs too.
        builder.descriptors = [Array(repeating: 0, count: half.count * 2 + 1)]
        #expect(code(builder.build()) == "plugin.descriptor_too_large")
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false]) func chainsWithoutEndEnd(usesGNUHash: Bool) {
        let found = code {
            $0.usesGNUHash = usesGNUHash
            $0.hashLoops = true
            $0.symbol = "apsule_plugin_other"
        }
        #expect(found == "plugin.entry_missing")
    }

    @Test func everyTruncationIsSaidToBeOne() {
        let whole = ELFBuilder().build()
        for count in 0..<whole.count {
            let code = code(Array(whole[..<count]))
            #expect(code == (count < 4 ? "plugin.not_elf" : "plugin.truncated"), "\(count) bytes")
        }
    }

    @Test func everyFlippedByteIsSurvived() {
        for usesGNUHash in [true, false] {
            var builder = ELFBuilder()
            builder.usesGNUHash = usesGNUHash
            let whole = builder.build()
            var outcomes: Set<String?> = []
            for index in whole.indices {
                for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF, whole[index] ^ 1, whole[index] ^ 0x80] {
                    var bytes = whole
                    bytes[index] = value
                    outcomes.insert(code(bytes))
                }
            }
            #expect(outcomes.count > 6)
            #expect(outcomes.allSatisfy { $0?.hasPrefix("plugin.") ?? true })
        }
    }

    @Test func realFilesAreJudged() throws {
        let program = open("/proc/self/exe", O_RDONLY)
        defer { close(program) }
        let error = try #require(throws: HostError.self) { try PluginImage(fileDescriptor: program) }
        #expect(error.code == "plugin.not_library")
        let path = try #require(try libraryPath(containing: "libApsuleKit"))
        let library = open(path, O_RDONLY)
        defer { close(library) }
        let missing = try #require(throws: HostError.self) { try PluginImage(fileDescriptor: library) }
        #expect(missing.code == "plugin.descriptor_missing")
    }

    private func libraryPath(containing name: String) throws -> String? {
        String(decoding: try FileReader.read("/proc/self/maps"), as: UTF8.self).split(separator: "\n")
            .first { $0.contains(name) }?.split(separator: " ").last.map(String.init)
    }
}
