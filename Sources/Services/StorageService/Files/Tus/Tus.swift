import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Functions shared by the endpoints of the tus resumable upload protocol 1.0.0
/// (https://tus.io/protocols/resumable-upload).
enum Tus {
    static let version = "1.0.0"
    static let extensions = "creation,termination,expiration"

    static let resumable = HTTPField.Name("Tus-Resumable")!
    static let uploadOffset = HTTPField.Name("Upload-Offset")!
    static let uploadLength = HTTPField.Name("Upload-Length")!
    static let uploadMetadata = HTTPField.Name("Upload-Metadata")!
    static let uploadExpires = HTTPField.Name("Upload-Expires")!

    /// - Throws: `precondition-failed` (412, as the protocol requires) for another version.
    static func check(_ request: Request) throws {
        guard request.headers[resumable] == version else {
            throw ErrorWithHeaders(
                ServiceError(.preconditionFailed, "Tus-Resumable must be \(version)."),
                [resumable: version, HTTPField.Name("Tus-Version")!: version])
        }
    }

    /// - Throws: `invalid-parameter` naming the header.
    static func number(_ name: HTTPField.Name, of request: Request) throws -> Int {
        guard let text = request.headers[name], let number = Int(text), number >= 0, String(number) == text else {
            throw ServiceError.unexpectedParameter(
                name.rawName[...], expected: "a whole number", found: request.headers[name]?[...] ?? "")
        }
        return number
    }

    /// Parses `key base64,key base64`. A key without a value has an empty one. Values with control characters are
    /// refused.
    ///
    /// - Throws: `invalid-parameter`.
    static func metadata(_ request: Request) throws -> [String: String] {
        var metadata: [String: String] = [:]
        for pair in (request.headers[uploadMetadata] ?? "").split(separator: ",") {
            let parts = pair.split(separator: " ")
            guard let key = parts.first, parts.count <= 2,
                let data = Data(base64Encoded: String(parts.count == 2 ? parts[1] : "")),
                let value = String(data: data, encoding: .utf8),
                !value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }),
                metadata.updateValue(value, forKey: String(key)) == nil
            else {
                throw ServiceError.unexpectedParameter(
                    "Upload-Metadata", expected: "different keys, each with a base64 value", found: pair)
            }
        }
        return metadata
    }

    /// Formats a date as in RFC 9110 §5.6.7.
    static func date(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }

    static func headers(of transfer: TusUploadStore.Transfer, offset: Int) -> HTTPFields {
        [
            resumable: version, uploadOffset: String(offset), uploadExpires: date(transfer.expires),
            .cacheControl: "no-store",
        ]
    }
}
