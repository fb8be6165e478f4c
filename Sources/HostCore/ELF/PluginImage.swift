public import ApsuleKit

/// A plugin's library as a file: its descriptor and what loading it would mean, read without running any of it.
///
/// No input, however damaged, does more than throw. Codes: `plugin.not_elf`, `plugin.not_library`,
/// `plugin.wrong_machine`, `plugin.truncated`, `plugin.damaged`, `plugin.descriptor_missing`,
/// `plugin.descriptor_too_large`; of `check` `plugin.runpath`, `plugin.executable_stack`, `plugin.entry_missing`.
public struct PluginImage: Sendable {
    /// The JSON of the section `apsule_family`, unread.
    public let descriptor: [UInt8]
    /// The libraries that the loader would load with it (DT_NEEDED), in their order.
    public var needed: [String] { dynamic.needed }
    /// A search path that the file brings (DT_RPATH, DT_RUNPATH).
    public var runPath: String? { dynamic.runPath }
    /// Whether loading it would make the stack of every thread executable.
    public let needsExecutableStack: Bool

    private let dynamic: ELFDynamic

    /// The largest descriptor that is read.
    public static let largestDescriptor = 1 << 20

    /// Reads a file in memory.
    public init(_ bytes: [UInt8]) throws(HostError) { try self.init(ELFSource(bytes)) }

    /// Reads an open file, which stays the caller's.
    ///
    /// The descriptor must stay open as long as `check` is called. It is read at explicit offsets: its own position does
    /// not move.
    public init(fileDescriptor: Int32) throws(HostError) {
        guard let source = ELFSource(fileDescriptor: fileDescriptor) else {
            throw HostError("plugin.not_elf", "This is no regular file.")
        }
        try self.init(source)
    }

    private init(_ source: ELFSource) throws(HostError) {
        let file = try ELFFile(source)
        dynamic = try ELFDynamic(file)
        guard !dynamic.isExecutable else {
            throw HostError("plugin.not_library", "This is a program, not a shared library; link it with -shared.")
        }
        let stack = file.segments.first { $0.type == ELFFile.stack }
        needsExecutableStack = stack.map { $0.flags & 1 != 0 } ?? true
        descriptor = try file.contents(ofSection: "apsule_family", limit: UInt64(Self.largestDescriptor))
        if descriptor.isEmpty {
            throw HostError(
                "plugin.descriptor_missing",
                "The library has no descriptor: its section apsule_family is missing or empty.")
        }
    }

    /// Checks what must hold before `dlopen`.
    ///
    /// - Parameter isBundled: SwiftPM gives what it builds a search path, which is refused only from third parties.
    public func check(family: String, isBundled: Bool = false) throws(HostError) {
        if let runPath, !isBundled {
            throw HostError(
                "plugin.runpath",
                "The library brings its own search path; link it without -rpath, or run patchelf --remove-rpath on it.",
                details: ["path": .string(runPath)])
        }
        if needsExecutableStack {
            throw HostError(
                "plugin.executable_stack", "The library asks for an executable stack; link it with -z noexecstack.")
        }
        let entry = "apsule_plugin_\(family)"
        guard dynamic.exports(entry) else {
            throw HostError(
                "plugin.entry_missing", "The library does not export \(entry).", details: ["symbol": .string(entry)])
        }
    }
}
