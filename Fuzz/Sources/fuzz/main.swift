import ApsuleKit
import CFuzzer
import Glibc

// fuzz TARGET [libFuzzer's arguments]: libFuzzer calls `input` with one input after the other.
guard CommandLine.arguments.count > 1, let chosen = FuzzTarget(rawValue: CommandLine.arguments[1]) else {
    print("usage: fuzz \(FuzzTarget.allCases.map(\.rawValue).joined(separator: "|")) [-option=value …] [CORPUS …]")
    exit(2)
}

/// Written once, before the first input.
nonisolated(unsafe) private var target = chosen

private func input(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    target.run([UInt8](UnsafeBufferPointer(start: data, count: size)))
    return 0
}

var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv.advanced(by: 1)
var count = CommandLine.argc - 1
exit(LLVMFuzzerRunDriver(&count, &arguments, input))
