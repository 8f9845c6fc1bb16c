import Foundation
import MartletPostgres
import Testing

/// Values survive a round trip.
@Suite struct ValueTests {
    private func check<T: PostgresEncodable & PostgresDecodable & Equatable>(_ values: [T]) async throws {
        try await withClient { client async throws in
            for value in values {
                #expect(try await client.query("SELECT \(value)")[0].decode(0, as: T.self) == value)
                #expect(try await client.query("SELECT \(Optional(value))")[0].decode(0, as: T?.self) == value)
            }
            #expect(try await client.query("SELECT \(T?.none)")[0].decode(0, as: T?.self) == nil)
        }
    }

    @Test func `Text is read as it was sent`() async throws {
        try await check([
            "", "a", "quote ' and \" and \\ and $1", "ümläut 🪶 \u{1F469}\u{200D}\u{1F680}",
            String(repeating: "x", count: 100_000),
        ])
    }

    @Test func `Whole numbers are read as they were sent, in every width`() async throws {
        try await check([0, 1, -1, Int.max, Int.min])
        try await check([0, Int32.max, Int32.min])
        try await check([0, Int16.max, Int16.min])
        try await check([0, Int64.max, Int64.min])
    }

    @Test func `Floating-point numbers are read as they were sent, including infinities`() async throws {
        try await check([0, -0.0, 1.5, .pi, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity, -.infinity])
        try await withClient { client async throws in
            #expect(try await client.query("SELECT \(Double.nan)")[0].decode(0, as: Double.self).isNaN)
        }
    }

    @Test func `Truth values, identifiers and bytes are read as they were sent`() async throws {
        try await check([true, false])
        try await check([UUID(), UUID()])
        try await check([[UInt8](), [0, 255, 39, 92], [UInt8](repeating: 7, count: 70_000)])
        try await check([Data(), Data([0, 1, 2])])
    }

    @Test func `Arrays are read as they were sent, even if empty or with awkward elements`() async throws {
        try await check([[String](), ["a"], ["", "NULL", "a,b", "{x}", "q\"q", "b\\s", "ü"]])
        try await check([[Int](), [1], [Int.min, 0, Int.max]])
        try await withClient { client async throws in
            let rows = try await client.query("SELECT ARRAY['a', NULL]::text[], ARRAY[true, false], ARRAY[1.5::float8]")
            #expect(try rows[0].decode(0, as: [String?].self) == ["a", nil])
            #expect(try rows[0].decode(1, as: [Bool].self) == [true, false])
            #expect(try rows[0].decode(2, as: [Double].self) == [1.5])
            #expect(await postgresError { try rows[0].decode(0, as: [String].self) }?.code == .decoding)
        }
    }

    @Test func `Times are read to the microsecond, and infinities as dates`() async throws {
        try await check([Date.distantPast, .distantFuture, Date(timeIntervalSince1970: 0)])
        try await withClient { client async throws in
            for text in ["2026-02-28 23:59:59.999999+00", "1969-12-31 23:59:59.000001+00", "2000-01-01 00:00:00+00"] {
                let date = try await client.query("SELECT \(text)::timestamptz")[0].decode(0, as: Date.self)
                let back = try await client.query("SELECT \(date)::text, \(date) = \(text)::timestamptz")
                #expect(try back[0].decode(0, as: String.self) == text)
                #expect(try back[0].decode(1, as: Bool.self))
            }
            let rows = try await client.query(
                "SELECT 'infinity'::timestamptz, '-infinity'::timestamptz, DATE '2001-01-01', \(Date.distantFuture)::text"
            )
            #expect(try rows[0].decode(0, as: Date.self) == .distantFuture)
            #expect(try rows[0].decode(1, as: Date.self) == .distantPast)
            #expect(try rows[0].decode(2, as: Date.self) == Date(timeIntervalSinceReferenceDate: 0))
            #expect(try rows[0].decode(3, as: String.self) == "infinity")
        }
    }

    @Test func `JSON is read as text or, without a copy, as bytes`() async throws {
        try await withClient { client async throws in
            let rows = try await client.query("SELECT \(PostgresJSON(#"{"n": 1.10}"#)), '[1]'::json, NULL::jsonb")
            #expect(try rows[0].decode(0, as: String.self) == #"{"n": 1.10}"#)
            #expect(try rows[0].decode(1, as: [UInt8].self) == Array("[1]".utf8))
            #expect(rows[0].withBytes(0) { $0.map { String(decoding: $0, as: UTF8.self) } } == #"{"n": 1.10}"#)
            #expect(rows[0].withBytes(2) { $0 == nil })
        }
    }

    @Test(arguments: [
        "0", "1", "-1", "0.5", "-0.00012", "12345678901234567890.123456789", "10000", "1000000000000", "1.10", "NaN",
        "Infinity",
    ])
    func `Numeric keeps its digits`(text: String) async throws {
        try await withClient { client async throws in
            #expect(try await client.query("SELECT \(text)::numeric")[0].decode(0, as: String.self) == text)
        }
    }

    @Test func `Enums and other text types are strings, and a wrong type is refused without showing its value`()
        async throws
    {
        try await withClient { client async throws in
            try await client.execute("CREATE TYPE mood AS ENUM ('good', 'bad')")
            #expect(try await client.query("SELECT \("bad")::mood")[0].decode(0, as: String.self) == "bad")
            let row = try await client.query("SELECT 4711 AS secret, NULL::int AS nothing")[0]
            let error = await postgresError { try row.decode("secret", as: String.self) }
            #expect(error?.code == .decoding)
            #expect(error?.description.contains("4711") == false)
            #expect(await postgresError { try row.decode("nothing", as: Int.self) }?.code == .decoding)
            #expect(await postgresError { try row.decode("absent", as: Int.self) }?.code == .decoding)
            #expect(await postgresError { try row.decode(2, as: Int.self) }?.code == .decoding)
        }
    }
}
