import Logging
import MartletCore
import MartletFlags
import MartletHTTP

/// Lets conditions look at the roles that a user has in storage: `user.roles`, beside `user.id`.
struct RoleAttributes: Sendable {
    let names: RoleNames
    let logger: Logger

    /// The attributes with the roles of the user whom the gateway knows, whatever the caller said of them.
    ///
    /// Nobody is asked where nothing looks at roles, or nobody is signed in. Roles that cannot be asked for are marked as unknown, so that no
    /// condition on them holds.
    func adding(to attributes: FlagAttributes, of principal: Principal, if isWanted: Bool) async -> FlagAttributes {
        guard isWanted, let id = principal.userID else { return attributes }
        var attributes = attributes
        do {
            let roles = try await names.roles(of: principal)
            attributes["user"] = .object(["id": .string(id), "roles": .array(roles.map { .string($0) })])
        } catch {
            logger.debug("roles of a user not read", metadata: ["error.cause": "\(error)"])
            attributes.areRolesUnknown = true
        }
        return attributes
    }
}

extension LiveSpace {
    /// Whether who takes part in an experiment that is running depends on roles.
    var experimentsAskForRoles: Bool { derived(AskingExperiments.init).isAny }

    /// Whether what flags answer depends on roles.
    var flagsAskForRoles: Bool { flags.map { $0.flags.asksForRoles || experimentsAskForRoles } ?? false }
}

private struct AskingExperiments: Sendable {
    let isAny: Bool

    init(_ space: LiveSpace) {
        isAny = space.documents(of: .experiment).contains { live in
            guard let document = (live.compiled as? CompiledExperiment)?.document else { return false }
            return document.state == .running && document.condition.asksForRoles
        }
    }
}
