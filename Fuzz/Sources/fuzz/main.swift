import ApsuleKit
import CFuzzer
import Glibc

// fuzz TARGET [libFuzzer's arguments]: libFuzzer calls `input` with one input after the other. To merge corpora and to
// minimise a crash it runs this program again with arguments of its own: those runs find the target in the environment.
private let variable = "APSULE_FUZZ_TARGET"
private var words = CommandLine.arguments
if words.count > 1, FuzzTarget(rawValue: words[1]) != nil { setenv(variable, words.remove(at: 1), 1) }
guard let name = getenv(variable), let chosen = FuzzTarget(rawValue: String(cString: name)) else {
    print("usage: fuzz \(FuzzTarget.allCases.map(\.rawValue).joined(separator: "|")) [-option=value …] [CORPUS …]")
    exit(2)
}

/// Written once, before the first input.
nonisolated(unsafe) private var target = chosen

private func input(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    target.run([UInt8](UnsafeBufferPointer(start: data, count: size)))
    return 0
}

private var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
private var count = Int32(words.count)
argv.withUnsafeMutableBufferPointer { buffer in
    var arguments = buffer.baseAddress
    exit(LLVMFuzzerRunDriver(&count, &arguments, input))
}
