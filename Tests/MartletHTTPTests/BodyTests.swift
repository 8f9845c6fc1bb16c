import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import NIOCore
import Testing

@testable import MartletHTTP

@Suite struct BodyTests {
    private struct Inner: Decodable, Equatable {
        var readers: [String]?
        var size: Int?
    }

    private struct Body: Decodable, Equatable {
        enum Kind: String, Decodable { case ordered, text }

        var name: String
        var kind: Kind?
        var until: Date?
        var inner: Inner?
        var parts: [Inner]?
        var byName: [String: [String]]?
        var ratio: Double?
        var flag: Bool?
        var small: Int32?
        var id: UUID?
    }

    private static func request(_ body: [UInt8]) -> Request {
        Request(
            head: HTTPRequest(method: .post, scheme: "http", authority: "x", path: "/"),
            body: RequestBody(buffer: ByteBuffer(bytes: body)))
    }

    private static func problem<Value>(_ read: () async throws -> Value) async -> ServiceError? {
        do {
            _ = try await read()
            return nil
        } catch {
            return error as? ServiceError
        }
    }

    /// The problem that each way of reading a body reports for an invalid one.
    private static func problems(_ body: [UInt8]) async -> [ServiceError?] {
        [
            await problem { try await request(body).json(upTo: 1 << 16) },
            await problem { try await request(body).decoded(Body.self) },
            await problem { try await BodyFields(request(body), ["name", "a"]) },
            await problem { try await request(body).allowNoBody() },
        ]
    }

    @Test(arguments: [
        "{", "{\"a\":1,}", "{\"a\":01}", "{\"a\":+1}", "{\"a\":.5}", "{\"a\":1.}", "{\"a\":0x1}", "{\"a\":NaN}",
        "{\"a\":Infinity}", "{'a':1}", "{a:1}",
        "{\"a\":\"\\ud800\"}", "{\"a\":\"\\udc00\\ud800\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\n\"}", "{}{}", "{} x",
        "/**/{}", "{}//", "\u{feff}{}", "nul", "\u{a0}{}",
    ]) func `every reader refuses invalid JSON`(_ text: String) async {
        for problem in await Self.problems(Array(text.utf8)) { #expect(problem?.code == .invalidJSON, "\(text)") }
    }

    @Test(
        arguments: [
            Array("{\"a\":\"".utf8) + [0xff] + Array("\"}".utf8),
            Array("{\"a\":\"".utf8) + [0xc0, 0x80] + Array("\"}".utf8),
            Array("{\"a\":1}".data(using: .utf16)!), Array("{\"a\":1}".data(using: .utf16LittleEndian)!),
            Array("{}".data(using: .utf32)!),
        ] as [[UInt8]]) func `every reader refuses invalid UTF-8`(_ body: [UInt8]) async
    {
        for problem in await Self.problems(body) { #expect(problem?.code == .invalidJSON) }
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, ErrorCode.invalidBody), (#"{"a":1,"\u0061":2}"#, .invalidBody),
        (#"{"a":{"b":1,"b":1}}"#, .invalidBody),
        (#"{"a":"\u0000"}"#, .invalidBody), (String(repeating: "[", count: 50_000), .limitExceeded),
        ("{\"a\":1e401}", .limitExceeded),
    ]) func `every reader refuses duplicate names, U+0000 and excessive depth`(
        _ text: String, _ code: ErrorCode
    ) async {
        for problem in await Self.problems(Array(text.utf8)) { #expect(problem?.code == code, "\(text.prefix(40))") }
    }

    @Test func `a missing body is refused if it is required`() async throws {
        #expect(await Self.problem { try await Self.request([]).json(upTo: 10) }?.code == .invalidJSON)
        #expect(await Self.problem { try await Self.request([]).decoded(Body.self) }?.code == .invalidJSON)
        #expect(await Self.problem { try await BodyFields(Self.request([]), ["a"]) }?.code == .invalidJSON)
        #expect(try await BodyFields(Self.request([]), ["a"], isOptional: true)["a"] == nil)
        try await Self.request([]).allowNoBody()
        try await Self.request(Array("{}".utf8)).allowNoBody()
    }

    @Test(arguments: [
        ("[]", "Expected a JSON object, found an array at byte 0."),
        (" 7", "Expected a JSON object, found a number at byte 1."),
        ("\t\n\"x\"", "Expected a JSON object, found a string at byte 2."),
        ("true", "Expected a JSON object, found a boolean at byte 0."),
        ("null", "Expected a JSON object, found null at byte 0."),
    ]) func `a body of the wrong type is refused with what was expected, what came and where`(
        _ text: String, _ detail: String
    )
        async
    {
        let problem = await Self.problem { try await BodyFields(Self.request(Array(text.utf8)), []) }
        #expect(problem?.code == .invalidBody)
        #expect(problem?.detail == detail)
        #expect(
            await Self.problem { try await Self.request(Array(text.utf8)).decoded(Body.self) }?.code == .invalidBody)
    }

    @Test(
        arguments: [
            (#"{"nam":"x"}"#, "nam", "Unknown member \"nam\"; did you mean \"name\"?"),
            (#"{"Name":"x"}"#, "Name", "Unknown member \"Name\"; did you mean \"name\"?"),
            (#"{"name":"x","colour":1}"#, "colour", "Unknown member \"colour\"."),
            (
                #"{"name":"x","inner":{"reader":[]}}"#, "inner.reader",
                "Unknown member \"reader\"; did you mean \"readers\"?"
            ),
            (
                #"{"name":"x","parts":[{},{"sizes":1}]}"#, "parts.1.sizes",
                "Unknown member \"sizes\"; did you mean \"size\"?"
            ),
            (#"{"name":"x","":1}"#, "", "Unknown member \"\"."),
            ("{\"name\":\"x\",\"flag\u{200b}\":1}", "flag\u{200b}", nil),
        ] as [(String, String, String?)]) func `an unknown member is refused with the nearest known name`(
            _ text: String, _ field: String, _ detail: String?
        ) async
    {
        let problem = await Self.problem { try await Self.request(Array(text.utf8)).decoded(Body.self) }
        #expect(problem?.code == .invalidBody)
        #expect(problem?.field == field)
        if let detail { #expect(problem?.detail == detail) }
    }

    @Test func `fields refuse an unknown member with the nearest known name, compared by bytes`() async {
        let problem = await Self.problem {
            try await BodyFields(Self.request(Array(#"{"rule":{}}"#.utf8)), ["rules", "hidden", "defaults"])
        }
        #expect(problem?.field == "rule")
        #expect(problem?.detail == "Unknown member \"rule\"; did you mean \"rules\"?")
        let kelvin = await Self.problem {
            try await BodyFields(Self.request(Array("{\"\u{212a}ey\":1}".utf8)), ["Key"])
        }
        #expect(kelvin?.code == .invalidBody, "U+212A is not K")
    }

    @Test(arguments: [
        (#"{"name":5}"#, "name"), (#"{"name":null}"#, "name"), (#"{}"#, "name"),
        (#"{"name":"x","kind":"geo"}"#, "kind"), (#"{"name":"x","inner":[]}"#, "inner"),
        (#"{"name":"x","inner":{"size":1.5}}"#, "inner.size"), (#"{"name":"x","inner":{"size":"1"}}"#, "inner.size"),
        (#"{"name":"x","inner":{"size":99999999999999999999}}"#, "inner.size"),
        (#"{"name":"x","small":2147483648}"#, "small"),
        (#"{"name":"x","inner":{"readers":["a",1]}}"#, "inner.readers.1"),
        (#"{"name":"x","byName":{"k":"v"}}"#, "byName.k"),
        (#"{"name":"x","until":"2026-02-30T00:00:00Z"}"#, "until"), (#"{"name":"x","until":1}"#, "until"),
        (#"{"name":"x","flag":1}"#, "flag"),
        (#"{"name":"x","ratio":"1"}"#, "ratio"), (#"{"name":"x","id":"1"}"#, "id"),
        (#"{"name":"x","parts":{}}"#, "parts"),
    ]) func `a value of the wrong type is refused by its path`(_ text: String, _ field: String) async {
        let problem = await Self.problem { try await Self.request(Array(text.utf8)).decoded(Body.self) }
        #expect(problem?.code == .invalidBody)
        #expect(problem?.field == field)
    }

    @Test func `a valid body is read completely`() async throws {
        let text = """
            {"name":"é\\ud83e\\udd89","kind":"text","until":"2026-11-22T08:48:59.5Z","inner":{"readers":["a"],"size":-3},"parts":[{},{"size":1}],
             "byName":{"any":["b"],"other":[]},"ratio":1e2,"flag":true,"small":7,"id":"0E984725-C51C-4BF4-9960-E1C80E27ABA0"}
            """
        let body = try await Self.request(Array(text.utf8)).decoded(Body.self)
        #expect(body.name == "é🦉" && body.kind == .text && body.inner == Inner(readers: ["a"], size: -3))
        #expect(
            body.parts?.count == 2 && body.byName == ["any": ["b"], "other": []] && body.ratio == 100
                && body.flag == true && body.small == 7)
        #expect(body.until?.timeIntervalSince1970 == 1_795_337_339.5)
        #expect(body.id?.uuidString == "0E984725-C51C-4BF4-9960-E1C80E27ABA0")
        let bare = try await Self.request(Array(#"{"name":"x","kind":null,"inner":null}"#.utf8)).decoded(Body.self)
        #expect(bare == Body(name: "x"))
    }
}
