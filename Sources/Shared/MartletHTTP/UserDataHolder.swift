import HTTPTypes
import Hummingbird
public import MartletAPI
public import MartletCore
public import NIOCore

/// A service's data about end users of apps, which can be erased or exported on request.
///
/// Both operations work in slices: a call takes at most a few seconds and changes at most some hundred rows in one
/// transaction. Live and test data are independent.
public protocol UserDataHolder: Sendable {
    /// Erases a slice of the user's data. Safe to repeat.
    ///
    /// - Throws: `ServiceError`: `invalid-body` for an invalid app, user or cursor.
    func erase(_ request: UserDataRequest) async throws -> UserErasure

    /// Exports a slice of the user's data.
    ///
    /// - Throws: The errors of `erase`.
    func export(_ request: UserDataRequest) async throws -> UserDataPortion
}

/// A slice of a user's data.
public struct UserDataPortion: Sendable {
    /// Maximum size of a slice: a few mebibytes, or one larger object.
    public static let maximumSizeInBytes = 32 << 20

    /// JSON Lines in the form `{"service","kind",…,"data"}`.
    public var lines: ByteBuffer
    /// The cursor for the next call; nil at the end.
    public var next: String?

    public init(lines: ByteBuffer = ByteBuffer(), next: String? = nil) {
        self.lines = lines
        self.next = next
    }
}

extension ByteBuffer {
    /// Appends one line of an export.
    ///
    /// - Parameter json: An object on a single line.
    public mutating func writeUserData(_ kind: String, of service: ServiceName, _ json: String) {
        writeString(#"{"service":"\#(service.rawValue)","kind":"\#(kind)","data":\#(json)}"# + "\n")
    }
}

/// For a service that stores no user data.
public struct NoUserData: UserDataHolder {
    public init() {}

    public func erase(_ request: UserDataRequest) -> UserErasure { UserErasure() }

    public func export(_ request: UserDataRequest) -> UserDataPortion { UserDataPortion() }
}

/// `POST /internal/users/erase` with `UserDataRequest`: 200 with `UserErasure`. For our own processes only.
struct EraseUserData: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/users/erase")

    let holder: any UserDataHolder

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        return try .encoding(try await holder.erase(try await request.decoded(UserDataRequest.self)))
    }
}

/// `POST /internal/users/export` with `UserDataRequest`: 200 with JSON Lines, and the next cursor in `X-Martlet-Next`.
/// For our own processes only.
struct ExportUserData: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/users/export")

    private static let next = HTTPField.Name(HeaderName.next)!

    let holder: any UserDataHolder

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let portion = try await holder.export(try await request.decoded(UserDataRequest.self))
        var headers: HTTPFields = [.contentType: "application/jsonl", .cacheControl: "no-store"]
        headers[Self.next] = portion.next
        return Response(status: .ok, headers: headers, body: .whole(portion.lines))
    }
}
