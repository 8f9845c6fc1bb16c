import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Data that experiments hold on end users: the variations they were given. Exposures of devices are not included,
/// because this service does not know who uses a device.
struct ExperimentUserData: UserDataHolder {
    static let rowsPerSlice = 500

    let exposures: ExposureStore

    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (user, space) = try Self.owner(request)
        let count = try await exposures.erase(user: user, in: space, limit: Self.rowsPerSlice)
        return UserErasure(
            erased: count > 0 ? ["exposures": count] : [:], next: count == Self.rowsPerSlice ? "exposures" : nil)
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let (user, space) = try Self.owner(request)
        guard let after = request.after.map({ Int($0) }) ?? 0, after >= 0 else {
            throw ServiceError(.invalidBody, "This is not a position from an earlier export.", field: "after")
        }
        let rows = try await exposures.export(user: user, in: space, after: after, limit: Self.rowsPerSlice)
        var lines = ByteBuffer()
        for row in rows { lines.writeUserData("exposure", of: .config, row) }
        return UserDataPortion(lines: lines, next: rows.count == Self.rowsPerSlice ? String(after + rows.count) : nil)
    }

    private static func owner(_ request: UserDataRequest) throws -> (user: String, space: AppSpace) {
        guard (1...32).contains(request.app.utf8.count) else {
            throw ServiceError(.invalidBody, "Expected the id of an app.", field: "app")
        }
        guard let user = UUID(uuidString: request.user) else {
            throw ServiceError(.invalidBody, "Expected the id of a user.", field: "user")
        }
        return (user.uuidString.lowercased(), AppSpace(appID: request.app, environment: request.environment))
    }
}
