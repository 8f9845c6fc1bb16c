import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Binds a new installation to the secret sent with it; from then on only that secret can change it.
///
/// Runs in one transaction. The installation belongs to the signed-in user; without an access token it belongs to no
/// user. It is signed out when the session of that token ends (`SignOut`). Fields that are not in the body are removed,
/// except channels, attributes and badge. Another installation with the same push token is deleted.
struct PutInstallation: Endpoint {
    static let route = Route(
        .put, "/installations/{id}", "putInstallation",
        """
        Registers the app's installation on a device, or updates it. Apps make this call each time they are opened. \
        The first call sets the installation's secret.
        """, callers: .client,
        parameters: [
            .path("id", .uuid),
            .installationSecret,
        ],
        body: .json(.installationFields),
        answers: [
            .answer(200, "The installation.", .json(.installation)),
            .answer(201, "The installation, newly registered.", .json(.installation)),
        ],
        errors: [413: "The body is too large (`payload-too-large`)."])

    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.claim(request, context)
        let fields = try await InstallationFields(request)
        let principal = try context.principal
        do {
            let (installation, isNew) = try await store.change(
                claim, hasToken: fields.hasToken, making: fields.platform
            ) { installation in
                try fields.replace(&installation)
                installation.userID = principal.userID
                installation.sessionID = principal.sessionID.flatMap { UUID(uuidString: $0) }
            }
            return .json(.init(string: installation.json.text), status: isNew ? .created : .ok)
        } catch let problem as ServiceError where problem.code == .installationNotFound {
            throw ServiceError(.invalidBody, "A new installation requires a platform.", field: "platform")
        }
    }
}

struct ReadInstallation: Endpoint {
    static let route = Route(
        .get, "/installations/{id}", "readInstallation", "Reads the app's own installation.", callers: .client,
        parameters: [
            .path("id", .uuid),
            .installationSecret,
        ],
        answers: [
            .answer(200, "The installation.", .json(.installation))
        ],
        errors: [404: "The app has no such installation (`installation-not-found`)."])

    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.check(request, context)
        guard let installation = try await store.read(claim.id, in: claim.space.id) else {
            throw ServiceError(.installationNotFound)
        }
        return .json(installation.json.text)
    }
}

/// Does not change the installation's user. Apps send `{"badge":0}` when they are opened.
struct PatchInstallation: Endpoint {
    static let route = Route(
        .patch, "/installations/{id}", "patchInstallation",
        "Changes the fields in the body. Null removes a value; attributes are merged (RFC 7396).", callers: .client,
        parameters: [
            .path("id", .uuid),
            .installationSecret,
        ],
        body: .json(.installationFields),
        answers: [
            .answer(200, "The installation.", .json(.installation))
        ],
        errors: [
            404: "The app has no such installation (`installation-not-found`).",
            413: "The body is too large (`payload-too-large`).",
        ])

    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.claim(request, context)
        let fields = try await InstallationFields(request)
        let (installation, _) = try await store.change(claim, hasToken: fields.hasToken) {
            try fields.merge(into: &$0)
        }
        return .json(installation.json.text)
    }
}

struct DeleteInstallation: Endpoint {
    static let route = Route(
        .delete, "/installations/{id}", "deleteInstallation",
        "Deletes the app's own installation, which then receives nothing more.", callers: .client,
        parameters: [
            .path("id", .uuid),
            .installationSecret,
        ],
        answers: [
            .answer(204, "The installation is deleted.")
        ],
        errors: [404: "The app has no such installation (`installation-not-found`)."])

    let access: InstallationAccess
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.check(request, context)
        _ = try await store.delete(claim.id, in: claim.space.id)
        return Response(status: .noContent)
    }
}

/// Adds the installation to a channel, or removes it. Idempotent.
struct ChangeChannel: Endpoint {
    static let route = Route(
        .put, "/installations/{id}/channels/{channel}", "joinChannel",
        "Adds the installation to a channel.", callers: .client,
        parameters: [
            .path("id", .uuid),
            .installationSecret,
            .path("channel", .string.pattern(#"^[A-Za-z0-9._:-]{1,64}$"#)),
        ],
        answers: [
            .answer(204, "The installation is in the channel.")
        ],
        errors: [404: "The app has no such installation (`installation-not-found`)."])
    static let leaveChannel = Route(
        .delete, "/installations/{id}/channels/{channel}", "leaveChannel", "Removes the installation from a channel.",
        callers: .client,
        parameters: [
            .path("id", .uuid),
            .installationSecret,
            .path("channel", .string.pattern(#"^[A-Za-z0-9._:-]{1,64}$"#)),
        ],
        answers: [
            .answer(204, "The installation is not in the channel.")
        ],
        errors: [404: "The app has no such installation (`installation-not-found`)."])

    let access: InstallationAccess
    let store: InstallationStore
    let isMember: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.claim(request, context)
        guard let channel = context.parameters.get("channel"), ChannelName.isValid(channel) else {
            throw ServiceError(.invalidName, ChannelName.sentence)
        }
        _ = try await store.change(claim, hasToken: false) { installation in
            var channels = Set(installation.channels)
            if isMember { channels.insert(channel) } else { channels.remove(channel) }
            guard channels.count <= InstallationFields.maximumChannels else {
                throw ServiceError(
                    .limitExceeded, "An installation may be in at most \(InstallationFields.maximumChannels) channels.")
            }
            installation.channels = channels.sorted()
        }
        return Response(status: .noContent)
    }
}
