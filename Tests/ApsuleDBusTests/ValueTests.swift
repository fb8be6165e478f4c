import ApsuleDBus
import Foundation
import TestBus
import Testing

@Suite struct ValueTests {
    let bus: TestBus
    init() throws { bus = try TestBus() }

    static let values: [DBusValue] = [
        .byte(.max), .bool(true), .bool(false), .int16(.min), .uint16(.max), .int32(.min), .uint32(.max), .int64(.min),
        .uint64(.max), .double(-0.5), .string(""), .string("é 😀"), .path("/"), .path("/a/b_1"), .signature("a{sv}"),
        .bytes([]), .bytes([0, 255]), .array([], element: "(ii)"), .strings(["a", "b"]),
        .array([.bytes([1]), .bytes([])], element: "ay"), .structure([.int32(1), .string("x")]),
        .dictionary(["a": .bool(true), "b": .bytes([1])]), .dictionary([], element: "{oa{sa{sv}}}"),
        .dictionary([.init(.uint16(1521), .variant(.bytes([1, 2])))], element: "{qv}"),
        .variant(.variant(.int32(1))),
    ]

    @Test func everyTypeComesBackAsItWent() async throws {
        let echo = try await Echo(bus.address)
        let client = try await DBusConnection.open(.address(bus.address))
        for value in Self.values {
            #expect(try await client.echo("Echo", .variant(value)) == [.variant(value)])
        }
        echo.unexport()
    }

    static let invalid: [(DBusValue, String)] = [
        (.string("a\0b"), "zero character"), (.path("relative"), "object path"), (.path("/a/"), "object path"),
        (.signature("a"), "signature"), (.structure([]), "no members"), (.array([.int32(1)], element: "s"), "type “i”"),
        (.array([], element: "ii"), "one type"), (.array([], element: ""), "one type"),
        (.dictionary([], element: "s"), "entry"), (.dictionary([], element: "{vs}"), "entry"),
        (.dictionary([.init(.string("a"), .int32(1))], element: "{sv}"), "type “{si}”"),
        (.bytes(Array(repeating: 0, count: 1 << 26 + 1)), "larger"),
        ((0..<80).reduce(.int32(1)) { value, _ in .variant(value) }, "nested"),
    ]

    @Test func whatIsNotDBusIsRefusedBeforeItIsSent() async throws {
        let client = try await DBusConnection.open(.address(bus.address))
        for (value, reason) in Self.invalid {
            let error = await failure { _ = try await client.echo("Echo", .variant(value)) }
            #expect(error?.kind == .invalid)
            #expect(error?.message.contains(reason) == true, "\(error?.message ?? "no error")")
        }
    }

    @Test(arguments: [
        DBusCall("not a name", "/", "a.b", "C"), DBusCall("a.b", "x", "a.b", "C"), DBusCall("a.b", "/", "ab", "C"),
        DBusCall("a.b", "/", "a.b", "no-member"),
    ])
    func aCallWithAnInvalidNameIsRefused(_ call: DBusCall) async throws {
        let client = try await DBusConnection.open(.address(bus.address))
        #expect(await failure { _ = try await client.call(call) }?.kind == .invalid)
    }

    @Test func descriptorsTravelBothWays() async throws {
        let echo = try await Echo(bus.address)
        let client = try await DBusConnection.open(.address(bus.address))
        let pipe = Pipe()
        pipe.fileHandleForWriting.write(Data("to the peer".utf8))
        try pipe.fileHandleForWriting.close()
        let sent = DBusDescriptor(owning: dup(pipe.fileHandleForReading.fileDescriptor))
        #expect(try await client.echo("Read", .descriptor(sent)) == [.string("to the peer")])
        let got = try #require(try await client.echo("Open").first?.descriptorValue)
        let number = try #require(got.take())
        #expect(got.number == -1 && got.take() == nil)
        let file = FileHandle(fileDescriptor: number, closeOnDealloc: true)
        #expect(String(decoding: file.readDataToEndOfFile(), as: UTF8.self) == "from the peer")
        echo.unexport()
    }

    @Test func valuesAreReadByType() {
        let value = DBusValue.dictionary(["n": .int16(-60), "s": .string("x"), "l": .strings(["a"]), "b": .bytes([1])])
        #expect(value["n"]?.intValue == -60)
        #expect(value["n"]?.doubleValue == -60)
        #expect(value["s"]?.stringValue == "x")
        #expect(value["l"]?.stringsValue == ["a"])
        #expect(value["b"]?.bytesValue == [1])
        #expect(value["none"] == nil)
        #expect(value["s"]?.intValue == nil && value["n"]?.stringValue == nil && value["n"]?.boolValue == nil)
        #expect(DBusValue.uint64(.max).intValue == nil)
        #expect(DBusValue.variant(.bool(true)).boolValue == true)
    }
}
