import ApsuleKit
import CProcess
import Foundation
import Testing

@testable import HostCore

@Suite(.serialized)
struct FrameChannelTests {
    private func pair() throws -> (FrameChannel, FrameChannel) {
        let (one, other) = try OwnedFile.socketPair()
        return (FrameChannel(one), FrameChannel(other))
    }

    @Test func carriesFramesAndFilesInOrder() throws {
        let (one, other) = try pair()
        let (inner, innerEnd) = try OwnedFile.socketPair()
        one.send(Frame(1, [1]))
        one.send(Frame(2, [], files: [innerEnd]))
        one.send(Frame(3, Array(repeating: 5, count: 60_000)))
        other.send(Frame(9))
        #expect(try other.receive()?.body == [1])
        let second = try #require(try other.receive())
        #expect(second.kind == 2 && second.files.count == 1)
        #expect(try other.receive()?.body.count == 60_000)
        #expect(try one.receive()?.kind == 9)
        // The file that came is the one that was sent.
        var byte: UInt8 = 42
        #expect(write(inner.raw, &byte, 1) == 1)
        byte = 0
        #expect(read(second.files[0].raw, &byte, 1) == 1 && byte == 42)
    }

    /// Nobody reads: the sender goes on, is told when the queue is full, and all of it arrives later.
    @Test func neverWaitsForAPeerThatDoesNotRead() throws {
        let (one, other) = try pair()
        let body = [UInt8](repeating: 7, count: 50_000)
        var sent = 0
        let start = ContinuousClock.now
        while one.send(Frame(UInt8(truncatingIfNeeded: sent), body)) == .sent { sent += 1 }
        #expect(ContinuousClock.now - start < .seconds(2))
        #expect(sent * body.count > 4 << 20 && sent * body.count < 32 << 20)
        for index in 0..<sent {
            let frame = try #require(try other.receive())
            #expect(frame.kind == UInt8(truncatingIfNeeded: index) && frame.body == body)
        }
        #expect(one.send(Frame(200)) == .sent)
        #expect(try other.receive()?.kind == 200)
    }

    @Test func waitsForRoomWhereAskedTo() async throws {
        let (one, other) = try pair()
        let total = 400
        let body = [UInt8](repeating: 7, count: 60_000)
        HostCore.Thread.start(name: "sender") {
            for index in 0..<total { one.sendWaiting(Frame(UInt8(truncatingIfNeeded: index), body)) }
            one.sendWaiting(Frame(255, [1]))
        }
        try await Task.sleep(for: .milliseconds(50))
        for index in 0..<total { #expect(try other.receive()?.kind == UInt8(truncatingIfNeeded: index)) }
        #expect(try other.receive()?.body == [1])
    }

    @Test func letsAWaitingSenderGoWhenTheChannelEnds() async throws {
        let (one, other) = try pair()
        async let result: FrameChannel.Sent = withCheckedContinuation { done in
            HostCore.Thread.start(name: "sender") {
                var last = FrameChannel.Sent.sent
                while last == .sent { last = one.sendWaiting(Frame(1, [UInt8](repeating: 0, count: 60_000))) }
                done.resume(returning: last)
            }
        }
        try await Task.sleep(for: .milliseconds(100))
        one.close()
        #expect(await result == .closed)
        withExtendedLifetime(other) {}
    }

    @Test func tellsAnOrderlyEndFromABrokenOne() throws {
        let (one, other) = try pair()
        one.send(Frame(1))
        one.close()
        #expect(try other.receive()?.kind == 1)
        #expect(try other.receive() == nil)
        #expect(other.send(Frame(2)) == .closed)

        let (raw, end) = try OwnedFile.socketPair()
        let broken = FrameChannel(end)
        var bytes: [UInt8] = [10, 0, 0, 0, 1, 0, 1, 2]
        #expect(write(raw.raw, &bytes, bytes.count) == bytes.count)
        close(raw.release())
        let error = #expect(throws: HostError.self) { try broken.receive() }
        #expect(error?.code == "host.wire_malformed")
        #expect(throws: HostError.self) { try broken.receive() }
    }

    @Test func endsWithAnErrorOnNonsense() throws {
        for nonsense: [UInt8] in [[255, 255, 255, 255, 1, 0], [0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 9]] {
            let (raw, end) = try OwnedFile.socketPair()
            let channel = FrameChannel(end)
            var bytes = nonsense
            #expect(write(raw.raw, &bytes, bytes.count) == bytes.count)
            #expect(throws: HostError.self) { try channel.receive() }
            // The peer notices, too.
            #expect(read(raw.raw, &bytes, 1) == 0)
        }
    }

    /// Files that no frame speaks of would use up the receiver's descriptors.
    @Test func takesNoMoreFilesThanFramesSpeakOf() throws {
        let (raw, end) = try OwnedFile.socketPair()
        let channel = FrameChannel(end)
        // Four files a frame, of which the header tells two: the difference adds up.
        let header = FrameReader.header(kind: 1, bodySize: 0, fileCount: 2)
        for _ in 0..<20 { #expect(wire_send(raw.raw, header, header.count, nil, 0, [0, 0, 0, 0], 4) == header.count) }
        var count = 0
        let error = #expect(throws: HostError.self) { while try channel.receive() != nil { count += 1 } }
        #expect(error?.code == "host.wire_malformed")
        #expect(count < 10)
    }

    /// A file that was sent and not taken is closed with the channel: its other end then reads an end.
    @Test func closesTheFilesOfFramesThatNobodyTakes() throws {
        var kept: [OwnedFile] = []
        do {
            let (one, other) = try pair()
            for _ in 0..<50 {
                let (mine, theirs) = try OwnedFile.socketPair()
                kept.append(mine)
                one.send(Frame(1, [], files: [theirs]))
            }
            _ = try other.receive()
        }
        for file in kept {
            var polled = pollfd(fd: file.raw, events: Int16(POLLIN), revents: 0)
            #expect(poll(&polled, 1, 2_000) == 1)
        }
    }
}
