import MartletTesting
import Testing

/// Requests are parsed only by the strict reader (`Request.json`, `BodyFields`, `JSONText`), dates by `Date(rfc3339:)`
/// and `CalendarDay`, and time zones by `TimeZone(iana:)`.
@Suite struct RequestReaderTests {
    @Test func `no endpoint decodes a request by itself`() throws {
        let search = SourceSearch()
        let endpoints = Set(try search.matches(of: ": Endpoint \\{", in: ["Sources/Services"]).map(\.file))
        #expect(endpoints.count > 200)
        let found = try search.matches(of: ".*(JSONDecoder\\(|JSONSerialization).*", in: ["Sources/Services"])
        for (file, line) in found where endpoints.contains(file) {
            // Values that the service itself has stored.
            #expect(line.contains("last.decode"), "\(file): \(line)")
        }
    }

    @Test func `only the shared reader parses times and time zones`() throws {
        let folders = ["Sources/Services", "Sources/Shared"]
        let pattern = #".*(ISO8601FormatStyle\(\)\.parse|strategy: \.iso8601\)|ISO8601DateFormatter|strptime\().*"#
        let times = try SourceSearch().matches(of: pattern, in: folders)
        #expect(times.map { "\($0.file): \($0.text)" } == [])
        // `MessageTiming` reads stored zones, which were checked on arrival. `TimeZone+IANA` is the shared reader.
        // `Tus` only formats dates in GMT.
        let stored = ["/MessageTiming.swift", "/TimeZone+IANA.swift", "/Tus.swift"]
        let zones = try SourceSearch().matches(of: #".*TimeZone\(identifier:.*"#, in: folders)
        #expect(zones.count > 0)
        for (file, line) in zones { #expect(stored.contains { file.hasSuffix($0) }, "\(file): \(line)") }
    }
}
