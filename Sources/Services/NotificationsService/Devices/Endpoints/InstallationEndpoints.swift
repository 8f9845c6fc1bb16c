import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `PUT /installations/{id}` with `InstallationFields`: 200, or 201 for a new one, whose secret is the one that came
/// with it.
///
/// The user is who is signed in: without an access token, nobody, and nobody any more when the token's session ends
/// (`SignOut`). Once done, the secret opens it and no other does.
struct PutInstallation: Endpoint {
    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let claim = try await access.claim(request, context)
        let fields = try await InstallationFields(request)
        let principal = try context.principal
        do {
            let (installation, isNew) = try await store.change(
                claim, bringsToken: fields.bringsToken, making: fields.platform
            ) { installation in
                try fields.replace(&installation)
                installation.userID = principal.userID
                installation.sessionID = principal.sessionID.flatMap { UUID(uuidString: $0) }
            }
            return .json(.init(string: installation.json.text), status: isNew ? .created : .ok)
        } catch let problem as HTTPProblem where problem.code == .installationNotFound {
            throw HTTPProblem(.invalidBody, "A new installation says what it runs on.", field: "platform")
        }
    }
}

/// `GET /installations/{id}`
struct ReadInstallation: Endpoint {
    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let claim = try await access.check(request, context)
        guard let installation = try await store.read(claim.id, in: claim.space.id) else {
            throw HTTPProblem(.installationNotFound)
        }
        return .json(installation.json.text)
    }
}

/// `PATCH /installations/{id}` with what is different now: 200. `{"badge":0}` when the app was opened. Whose it is
/// stays.
struct PatchInstallation: Endpoint {
    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let claim = try await access.claim(request, context)
        let fields = try await InstallationFields(request)
        let (installation, _) = try await store.change(claim, bringsToken: fields.bringsToken) {
            try fields.merge(into: &$0)
        }
        return .json(installation.json.text)
    }
}

/// `DELETE /installations/{id}`: 204. Nothing is sent to it any more.
struct DeleteInstallation: Endpoint {
    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let claim = try await access.check(request, context)
        _ = try await store.delete(claim.id, in: claim.space.id)
        return Response(status: .noContent)
    }
}

/// `PUT` and `DELETE /installations/{id}/channels/{channel}`: 204. Harmless to repeat.
struct ChangeChannel: Endpoint {
    let access: InstallationAccess
    let store: InstallationStore
    let isMember: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let claim = try await access.claim(request, context)
        guard let channel = context.parameters.get("channel"), ChannelName.isOne(channel) else {
            throw HTTPProblem(.invalidName, ChannelName.sentence)
        }
        try await request.allowNoBody()
        _ = try await store.change(claim, bringsToken: false) { installation in
            var channels = Set(installation.channels)
            if isMember { channels.insert(channel) } else { channels.remove(channel) }
            guard channels.count <= InstallationFields.maximumChannels else {
                throw HTTPProblem(
                    .limitExceeded, "An installation may be in \(InstallationFields.maximumChannels) channels.")
            }
            installation.channels = channels.sorted()
        }
        return Response(status: .noContent)
    }
}
