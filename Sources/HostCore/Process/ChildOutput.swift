internal import ApsuleKit
internal import CProcess
internal import Glibc

/// What a child writes to its standard output and error, read line by line in this process.
///
/// A child with the terminal in its hands could write over a question that a person is asked.
final class ChildOutput: Sendable {
    typealias Line = @Sendable (String) -> Void

    private static let longestLine = 4_096
    /// The end that the child gets.
    let file: OwnedFile
    private let hasEnded = Signal()

    /// - Parameter line: gets each line without its end, on a thread of its own; bytes that are no UTF-8 become U+FFFD.
    init(_ line: @escaping Line) throws(HostError) {
        var (readEnd, writeEnd): (Int32, Int32) = (-1, -1)
        let failed = process_pipe(&readEnd, &writeEnd)
        guard failed == 0 else { throw .system("A pipe cannot be made", -failed) }
        file = OwnedFile(writeEnd)
        let reader = OwnedFile(readEnd)
        let hasEnded = hasEnded
        Thread.start(name: "apsule.output") {
            Self.read(reader, line)
            hasEnded.post()
        }
    }

    /// Lets go of the child's end here, so that the output ends with the child.
    func started() {
        let raw = file.release()
        if raw >= 0 { close(raw) }
    }

    /// Waits until all that the child wrote has been passed on.
    func wait(milliseconds: Int) { _ = hasEnded.wait(milliseconds: milliseconds) }

    private static func read(_ reader: OwnedFile, _ line: Line) {
        var pending: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = Glibc.read(reader.raw, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            for byte in buffer[..<count] {
                if byte == UInt8(ascii: "\n") {
                    line(String(decoding: pending, as: UTF8.self))
                    pending = []
                } else if pending.count < longestLine {
                    pending.append(byte)
                }
            }
        }
        if !pending.isEmpty { line(String(decoding: pending, as: UTF8.self)) }
    }
}
