/// The encoding of a text file.
public enum TextEncoding: String, CaseIterable, Sendable {
    case utf8 = "utf-8"
    /// Little-endian with a byte order mark, as written by Apple's tools.
    case utf16 = "utf-16"

    /// Decodes a file: UTF-16 if a byte order mark or the zeros of its first characters indicate it, otherwise UTF-8,
    /// with or without a mark.
    ///
    /// - Throws: `LocalizationFault` for other encodings, and beyond `LocalizationLimits.fileSizeInBytes`.
    public static func text(of bytes: [UInt8]) throws -> String {
        guard bytes.count <= LocalizationLimits.fileSizeInBytes else {
            throw LocalizationFault("", "The file may have at most \(LocalizationLimits.fileSizeInBytes) bytes.")
        }
        let text: String?
        switch (bytes.first, bytes.dropFirst().first) {
        case (0xff, 0xfe): text = utf16(bytes.dropFirst(2), isBigEndian: false)
        case (0xfe, 0xff): text = utf16(bytes.dropFirst(2), isBigEndian: true)
        case (0, let low?) where low != 0: text = utf16(bytes[...], isBigEndian: true)
        case (let low?, 0) where low != 0: text = utf16(bytes[...], isBigEndian: false)
        default:
            text = String(
                validating: bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes.dropFirst(3) : bytes[...], as: UTF8.self)
        }
        guard let text else { throw LocalizationFault("", "The file is neither UTF-8 nor UTF-16.") }
        return text
    }

    public func bytes(of text: String) -> [UInt8] {
        switch self {
        case .utf8: Array(text.utf8)
        case .utf16:
            [0xff, 0xfe] + text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        }
    }

    private static func utf16(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> String? {
        guard bytes.count.isMultiple(of: 2) else { return nil }
        let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        return String(validating: units, as: UTF16.self)
    }
}
