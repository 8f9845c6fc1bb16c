import Foundation
import MartletAPI
import MartletHTTP
import NIOCore
import NIOHTTP1

/// The user data held by another service, requested by an internal call.
struct RemoteUserData: UserDataHolder {
    let service: ServiceAddress
    let calls: ServiceCalls

    func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let answer = try await calls.post("/internal/users/erase", request, to: service, upTo: 64 << 10)
        return try JSONDecoder().decode(UserErasure.self, from: Data(answer.body.readableBytesView))
    }

    func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let answer = try await calls.post(
            "/internal/users/export", request, to: service, upTo: UserDataPortion.maximumSizeInBytes)
        return UserDataPortion(lines: answer.body, next: answer.headers.first(name: HeaderName.next))
    }
}
