/// Determines the media type of a file from its first bytes.
///
/// If the first bytes identify a type, that type counts. Otherwise the type that the client declared counts, but only
/// if no browser runs it. So a client can neither hide markup nor declare any bytes to be an image.
public enum ContentType {
    public static let unknown = "application/octet-stream"

    /// - Parameter declared: The type that the client declared, if any.
    public static func decide(declared: String?, prefix: [UInt8]) -> String {
        if let found = sniff(prefix) { return found }
        guard let declared = declared.flatMap(essence), isHarmless(declared) else {
            return isText(prefix) ? "text/plain" : unknown
        }
        return declared.hasPrefix("text/") && !isText(prefix) ? unknown : declared
    }

    /// Whether a browser may display the type inline. All other types are downloaded, because they might run scripts in
    /// our origin.
    public static func isInline(_ type: String) -> Bool {
        inline.contains(type) || type.hasPrefix("audio/") || type.hasPrefix("video/")
    }

    /// Whether thumbnails are made of this type.
    public static func isPicture(_ type: String) -> Bool { pictures.contains(type) }

    private static let pictures: Set<String> = [
        "image/jpeg", "image/png", "image/gif", "image/webp", "image/heic", "image/avif",
    ]
    private static let inline = pictures.union([
        "image/bmp", "image/tiff", "text/plain", "text/csv", "application/json",
    ])

    /// The type that the bytes identify, by a signature or as markup; nil if they identify none.
    public static func sniff(_ prefix: [UInt8]) -> String? {
        for (offset, magic, type) in signatures where starts(prefix, magic, at: offset) { return type }
        if starts(prefix, "RIFF", at: 0) {
            if starts(prefix, "WEBP", at: 8) { return "image/webp" }
            if starts(prefix, "WAVE", at: 8) { return "audio/wav" }
            if starts(prefix, "AVI ", at: 8) { return "video/x-msvideo" }
        }
        if starts(prefix, "ftyp", at: 4) { return isoMedia(prefix) }
        // Layer III and ADTS. Layer I may begin with ff fe, which is also how UTF-16 begins.
        if prefix.count > 2, prefix[0] == 0xff, [0xfb, 0xfa, 0xf3, 0xf2, 0xe3, 0xe2].contains(prefix[1]) {
            return "audio/mpeg"
        }
        if prefix.count > 2, prefix[0] == 0xff, [0xf1, 0xf9].contains(prefix[1]) { return "audio/aac" }
        return markup(prefix)
    }

    private static let signatures: [(offset: Int, magic: [UInt8], type: String)] = [
        (0, [0xff, 0xd8, 0xff], "image/jpeg"),
        (0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "image/png"),
        (0, Array("GIF87a".utf8), "image/gif"), (0, Array("GIF89a".utf8), "image/gif"),
        (0, [0x49, 0x49, 0x2a, 0x00], "image/tiff"), (0, [0x4d, 0x4d, 0x00, 0x2a], "image/tiff"),
        (0, Array("%PDF-".utf8), "application/pdf"), (0, Array("%!PS".utf8), "application/postscript"),
        (0, [0x50, 0x4b, 0x03, 0x04], "application/zip"), (0, [0x50, 0x4b, 0x05, 0x06], "application/zip"),
        (0, [0x1f, 0x8b, 0x08], "application/gzip"), (0, [0x28, 0xb5, 0x2f, 0xfd], "application/zstd"),
        (0, [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], "application/x-xz"), (0, Array("BZh".utf8), "application/x-bzip2"),
        (0, [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c], "application/x-7z-compressed"),
        (0, Array("Rar!\u{1a}\u{07}".utf8), "application/vnd.rar"), (257, Array("ustar".utf8), "application/x-tar"),
        (0, Array("ID3".utf8), "audio/mpeg"), (0, Array("OggS".utf8), "audio/ogg"),
        (0, Array("fLaC".utf8), "audio/flac"),
        (0, [0x1a, 0x45, 0xdf, 0xa3], "video/webm"), (0, Array("wOFF".utf8), "font/woff"),
        (0, Array("wOF2".utf8), "font/woff2"),
        (0, Array("SQLite format 3\0".utf8), "application/vnd.sqlite3"), (0, [0x7f, 0x45, 0x4c, 0x46], unknown),
        (0, [0x00, 0x61, 0x73, 0x6d], "application/wasm"), (0, [0xcf, 0xfa, 0xed, 0xfe], unknown),
        (0, Array("MZ".utf8), unknown),
    ]

    /// ISO/IEC 14496-12: the major brand after `ftyp`.
    private static func isoMedia(_ prefix: [UInt8]) -> String {
        guard prefix.count >= 12 else { return unknown }
        switch String(decoding: prefix[8..<12], as: UTF8.self) {
        case "heic", "heix", "heim", "heis", "mif1", "msf1": return "image/heic"
        case "avif", "avis": return "image/avif"
        case "M4A ", "M4B ": return "audio/mp4"
        case "qt  ": return "video/quicktime"
        default: return "video/mp4"
        }
    }

    /// Text that a browser would treat as a document and run: HTML, SVG and other XML, after any blanks and byte order
    /// marks.
    private static func markup(_ prefix: [UInt8]) -> String? {
        // Without its zeros, UTF-16 reads like ASCII.
        let text = String(decoding: prefix.filter { $0 != 0 }, as: UTF8.self).lowercased()
        guard let first = text.drop(while: { $0.isWhitespace || $0 == "\u{feff}" || $0 == "\u{fffd}" }).first,
            first == "<"
        else {
            return nil
        }
        if text.contains("<svg") { return "image/svg+xml" }
        let marks = [
            "<!doctype html", "<html", "<head", "<body", "<script", "<iframe", "<img", "<a ", "<div", "<table",
            "<style", "<title", "<meta", "<p", "<b", "<h1", "<font", "<br",
        ]
        if marks.contains(where: text.contains) { return "text/html" }
        return "application/xml"
    }

    /// Type and subtype in lower case without parameters; nil if it is not a media type (RFC 9110 §8.3.1).
    private static func essence(_ declared: String) -> String? {
        let text = (declared.split(separator: ";", omittingEmptySubsequences: false).first ?? "").lowercased()
        let trimmed = text.drop { $0 == " " }.prefix { $0 != " " }
        let parts = trimmed.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, trimmed.utf8.count <= 127,
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isToken) })
        else {
            return nil
        }
        return String(trimmed)
    }

    /// Types that no browser runs. Types with a signature are not listed: bytes that had one would have been
    /// recognized.
    private static func isHarmless(_ type: String) -> Bool {
        switch type {
        case "text/plain", "text/csv", "text/markdown", "text/calendar", "text/vcard", "application/json",
            "application/geo+json",
            "application/gpx+xml", "application/cbor", "application/x-ndjson", "application/x-protobuf",
            "application/x-plist":
            true
        default: type.hasPrefix("application/vnd.") && !type.hasSuffix("+xml")
        }
    }

    private static func isText(_ prefix: [UInt8]) -> Bool {
        !prefix.isEmpty && !prefix.contains { $0 < 0x09 || (0x0e..<0x20).contains($0) && $0 != 0x1b }
            && String(validating: prefix.dropLast(incompleteTail(prefix)), as: UTF8.self) != nil
    }

    /// The number of bytes at the end that begin a truncated character.
    private static func incompleteTail(_ prefix: [UInt8]) -> Int {
        for back in 1...3 where prefix.count >= back {
            let byte = prefix[prefix.count - back]
            if byte & 0xc0 == 0x80 { continue }
            let length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
            return length > back ? back : 0
        }
        return 0
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$&-^_.+".utf8.contains(byte)
        }
    }

    private static func starts(_ prefix: [UInt8], _ magic: String, at offset: Int) -> Bool {
        starts(prefix, Array(magic.utf8), at: offset)
    }

    private static func starts(_ prefix: [UInt8], _ magic: [UInt8], at offset: Int) -> Bool {
        prefix.count >= offset + magic.count && prefix[offset..<offset + magic.count].elementsEqual(magic)
    }
}
