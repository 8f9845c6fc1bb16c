public import Foundation

/// Why a call failed: what the server answered, or what went wrong on the device.
///
/// Compare ``code``; it is stable. ``message`` is for developers, not for users.
///
/// ```swift
/// do {
///     try await martlet.storage.save(event)
/// } catch let error as MartletError where error.code == .preconditionFailed {
///     // Somebody else changed the event in the meantime.
/// }
/// ```
///
/// A cancelled task throws `CancellationError`, as usual in Swift.
public struct MartletError: Error, Sendable {
    /// An error in one of several items of a request.
    public struct Row: Sendable, Hashable {
        /// The item's index, from 0.
        public let row: Int
        public let field: String?
        public let reason: String
    }

    /// One reference instead of ten fields, because many values contain an error, and each would need code to copy ten
    /// fields.
    private let fields: Fields

    public var code: Code { fields.code }
    /// A sentence for developers.
    public var message: String { fields.message }
    /// The HTTP status; nil if the error arose on the device.
    public var status: Int? { fields.status }
    /// The invalid field, parameter or part of the path.
    public var field: String? { fields.field }
    /// The invalid items of a request with several.
    public var rows: [Row] { fields.rows }
    /// The request's id in the server's log.
    public var requestID: String? { fields.requestID }
    /// How long to wait before the next attempt, in seconds, if the server said so.
    public var retryAfter: TimeInterval? { fields.retryAfter }
    /// What caused the error on the device, for example a `URLError`.
    public var underlyingError: (any Error)? { fields.underlyingError }

    @inline(never)
    public init(_ code: Code, _ message: String) { self.init(code, message, status: nil) }

    @inline(never)
    public init(
        _ code: Code, _ message: String, status: Int? = nil, field: String? = nil, rows: [Row] = [],
        requestID: String? = nil, retryAfter: TimeInterval? = nil, underlyingError: (any Error)? = nil
    ) {
        fields = Fields(
            code: code, message: message, status: status, field: field, rows: rows, requestID: requestID,
            retryAfter: retryAfter, underlyingError: underlyingError)
    }

    private final class Fields: Sendable {
        let code: Code
        let message: String
        let status: Int?
        let field: String?
        let rows: [Row]
        let requestID: String?
        let retryAfter: TimeInterval?
        let underlyingError: (any Error)?

        init(
            code: Code, message: String, status: Int?, field: String?, rows: [Row], requestID: String?,
            retryAfter: TimeInterval?, underlyingError: (any Error)?
        ) {
            self.code = code
            self.message = message
            self.status = status
            self.field = field
            self.rows = rows
            self.requestID = requestID
            self.retryAfter = retryAfter
            self.underlyingError = underlyingError
        }
    }

    /// Whether the server could not be reached or did not answer. The same call may succeed later.
    public var isConnectionFailure: Bool { [.notConnected, .timedOut, .connectionLost].contains(code) }

    /// Whether the server answered that what was requested does not exist, or may not be seen.
    public var isNotFound: Bool { status == 404 }
}

extension MartletError: LocalizedError, CustomStringConvertible {
    public var errorDescription: String? { description }

    public var description: String {
        var text = "\(code.rawValue): \(message)"
        if let field { text += " (\(field))" }
        if let requestID { text += " [request \(requestID)]" }
        return text
    }
}

extension MartletError {
    /// The message names the type, and the path of the value in it.
    init(decoding type: Any.Type, _ error: DecodingError) {
        let context: DecodingError.Context
        var path: [any CodingKey] = []
        switch error {
        case .keyNotFound(let key, let found): (context, path) = (found, found.codingPath + [key])
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
            (context, path) = (found, found.codingPath)
        @unknown default: context = .init(codingPath: [], debugDescription: "\(error)")
        }
        let place = path.map(\.stringValue).joined(separator: ".")
        self.init(
            .undecodable, "Could not read \(type)\(place.isEmpty ? "" : " at \(place)"): \(context.debugDescription).",
            field: place.isEmpty ? nil : place, underlyingError: error)
    }
}
