import ApsuleKit
import Foundation
import Synchronization
import Testing

@Suite struct JSONDepthTests {
    private func nested(_ depth: Int, _ open: String, _ close: String) -> [UInt8] {
        Array((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
    }

    @Test(arguments: [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")])
    func depthIsBoundedAndSaidToBe(open: String, close: String) throws {
        let levels = open.count { $0 == "[" || $0 == "{" }
        _ = try JSON(parsing: nested(64 / levels, open, close))
        for depth in [65, 10_000] {
            let bytes = nested(depth, open, close)
            let error = try #require(throws: JSON.Failure.self) { try JSON(parsing: bytes) }
            #expect(error.isTooDeep)
            #expect(bytes.withUnsafeBufferPointer { JSON.isWellFormed($0) }?.isTooDeep == true)
        }
        #expect(throws: JSON.Failure.self) { try JSON(parsing: nested(4, open, close), maxDepth: 3) }
        #expect(try !#require(throws: JSON.Failure.self) { try JSON(parsing: "[1") }.isTooDeep)
    }

    /// Threads of the host's pool have small stacks: whatever depth is asked for, all that recurs fits.
    @Test func everythingFitsASmallStack() throws {
        let outcome = onSmallStack {
            for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
                let bytes = nested(JSON.greatestDepth, open, close)
                guard let value = try? JSON(parsing: bytes, maxDepth: .max),
                    let copy = try? JSON(parsing: bytes, maxDepth: .max),
                    value == copy, value.hashValue == copy.hashValue, value.text == value.canonical,
                    value.pretty() != ""
                else { return false }
                for depth in [JSON.greatestDepth + 1, 1_000_000] {
                    do throws(JSON.Failure) {
                        _ = try JSON(parsing: nested(depth, open, close), maxDepth: .max)
                        return false
                    } catch {
                        guard error.isTooDeep else { return false }
                    }
                }
            }
            return true
        }
        #expect(outcome)
    }

    private func onSmallStack(_ body: @escaping @Sendable () -> Bool) -> Bool {
        final class Outcome: Sendable { let value = Mutex(false) }
        let outcome = Outcome()
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            let value = body()
            outcome.value.withLock { $0 = value }
            done.signal()
        }
        thread.stackSize = 512 << 10
        thread.start()
        done.wait()
        return outcome.value.withLock { $0 }
    }
}
