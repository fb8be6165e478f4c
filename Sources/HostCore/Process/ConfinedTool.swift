public import ApsuleKit
internal import CProcess
internal import Glibc

/// A program that works on a project's files for the host, and may read nothing else: esbuild.
public struct ConfinedTool: Sendable {
    public struct Output: Sendable {
        public let succeeded: Bool
        /// What it wrote to standard output, as a file at its start.
        public let file: OwnedFile
        public let bytes: [UInt8]
        public let errors: [UInt8]
    }

    private static let largestOutput = 64 << 20
    private let installation: Installation
    private let program: String

    public init(installation: Installation, program: String) {
        (self.installation, self.program) = (installation, program)
    }

    /// Runs it to its end.
    ///
    /// - Parameters:
    ///   - folder: what it may read.
    ///   - directory: where it starts, beneath `folder`.
    /// - Throws: `host.system_error`, `host.timeout` after a minute.
    public func run(
        _ arguments: [String], input: [UInt8], folder: String, directory: String
    ) throws(HostError) -> Output {
        let (standardInput, output, errors) = (try memory(), try memory(), try memory())
        try write(input, standardInput)
        var rules: [String] = []
        for path in ["/usr", "/lib", "/lib64", "/sys/kernel/mm", "/proc/self", "/etc/ld.so.cache", folder]
        where access(path, F_OK) == 0 {
            rules += ["--ro", path]
        }
        rules += ["--dev", "/dev/null", "--chdir", directory, "--no-tcp", "--rlimit", "core=0", "--"]
        let child = try ChildProcess.start(
            ChildCommand(
                installation.folder + "/apsule-launch", rules + [program] + arguments,
                descriptors: [0: standardInput, 1: output, 2: errors]))
        guard let status = child.wait(milliseconds: 60_000) else {
            child.kill()
            throw HostError("host.timeout", "\(program) did not end within a minute.")
        }
        let bytes = try FileReader.read(output.raw, program, limit: Self.largestOutput)
        let complaint = try FileReader.read(errors.raw, program, limit: Self.largestOutput)
        lseek(output.raw, 0, SEEK_SET)
        return Output(succeeded: status == .exited(0), file: output, bytes: bytes, errors: complaint)
    }

    private func memory() throws(HostError) -> OwnedFile {
        let descriptor = wire_memory(0)
        guard descriptor >= 0 else { throw .system("Memory for \(program) cannot be made", -descriptor) }
        return OwnedFile(descriptor)
    }

    private func write(_ bytes: [UInt8], _ file: OwnedFile) throws(HostError) {
        let problem = FileWriter.write(bytes, to: file.raw)
        guard problem == 0 else { throw .system("Input for \(program) cannot be written", problem) }
        lseek(file.raw, 0, SEEK_SET)
    }
}
