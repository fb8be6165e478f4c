internal import ApsuleKit
internal import CProcess
internal import Glibc

/// A program and what it gets when it starts.
public struct ChildCommand: Sendable {
    /// A path; no search happens.
    public var program: String
    public var arguments: [String]
    public var environment: ChildEnvironment
    /// The child's descriptors by their number there; 0, 1 and 2 are /dev/null unless named, every other is closed.
    public var descriptors: [Int32: OwnedFile]
    /// Whether 1 and 2 are this process's where `descriptors` does not name them.
    public var inheritsOutput: Bool
    /// A session of its own: no controlling terminal, and no Ctrl-C that was meant for the parent.
    public var newSession = true

    public init(
        _ program: String, _ arguments: [String] = [], environment: ChildEnvironment = ChildEnvironment(),
        descriptors: [Int32: OwnedFile] = [:], inheritsOutput: Bool = false
    ) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.descriptors = descriptors
        self.inheritsOutput = inheritsOutput
    }

    /// Starts it from the calling thread, whose end ends the child where it asked for that: see `ChildKeeper`.
    ///
    /// - Returns: its process number.
    func spawn() throws(HostError) -> Int32 {
        let places = descriptors.map { process_descriptor(source: $0.value.raw, target: $0.key) }
        let pid = withStrings([program] + arguments) { arguments in
            withStrings(environment.entries) { environment in
                process_spawn(
                    program, arguments, environment, places, places.count, inheritsOutput, newSession)
            }
        }
        guard pid > 0 else { throw .system("\(program) cannot be started", -pid) }
        return pid
    }
}

/// The texts as a C array that ends with NULL.
private func withStrings<R>(_ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
    var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
    defer { pointers.forEach { free($0) } }
    pointers.append(nil)
    return body(pointers)
}
