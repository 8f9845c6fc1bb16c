import Foundation

/// Formats times as RFC 3339 in UTC with milliseconds: `2026-11-21T08:48:59.123Z`.
enum Timestamp {
    static func append(_ date: Date, to bytes: inout [UInt8]) {
        let milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded(.down))
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        append(Int(parts.tm_year) + 1900, digits: 4, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        append(Int(parts.tm_mon) + 1, digits: 2, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        append(Int(parts.tm_mday), digits: 2, to: &bytes)
        bytes.append(UInt8(ascii: "T"))
        append(Int(parts.tm_hour), digits: 2, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        append(Int(parts.tm_min), digits: 2, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        append(Int(parts.tm_sec), digits: 2, to: &bytes)
        bytes.append(UInt8(ascii: "."))
        append(Int(milliseconds % 1000), digits: 3, to: &bytes)
        bytes.append(UInt8(ascii: "Z"))
    }

    private static func append(_ number: Int, digits: Int, to bytes: inout [UInt8]) {
        var divisor = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }
}
