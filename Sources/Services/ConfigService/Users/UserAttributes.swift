import Logging
import MartletCore
import MartletFlags
import MartletHTTP

/// Adds attributes from other services for use in conditions: the user's roles from storage (`user.roles`), and
/// `user.profile`, `user.emailVerified` and `user.anonymous` from auth.
struct UserAttributes: Sendable {
    /// The attributes that must be requested from other services.
    struct Needs: Sendable, Equatable {
        var roles = false
        var profile = false

        static func | (one: Needs, other: Needs) -> Needs {
            Needs(roles: one.roles || other.roles, profile: one.profile || other.profile)
        }
    }

    let roles: RoleNames
    let profiles: UserProfiles
    let logger: Logger

    /// The attributes with those of the user known to the gateway, whatever the caller claims.
    ///
    /// No service is called if `needs` is empty or no user is signed in. Attributes that cannot be loaded are marked as
    /// unknown, so that no condition on them matches.
    func adding(to attributes: FlagAttributes, of principal: Principal, _ needs: Needs) async -> FlagAttributes {
        guard needs != Needs(), let id = principal.userID else { return attributes }
        var attributes = attributes
        var user: [String: FlagValue] = ["id": .string(id)]
        // Keeps attributes that this request has already loaded.
        if case .object(let known)? = attributes["user"], known["id"] == .string(id) { user = known }
        if needs.roles {
            do {
                user["roles"] = .array(try await roles.roles(of: principal).map { .string($0) })
            } catch {
                logger.debug(
                    "Could not load a user's roles; conditions on them do not match.",
                    metadata: ["error.cause": "\(error)"])
                attributes.areRolesUnknown = true
            }
        }
        if needs.profile {
            do {
                let known = try await profiles.value(of: principal) ?? .object([])
                for name in FlagAttributes.namesFromAuth { user[name] = known[name].map { FlagValue($0) } ?? .null }
            } catch {
                logger.debug(
                    "Could not load a user's profile; conditions on it do not match.",
                    metadata: ["error.cause": "\(error)"])
                attributes.isProfileUnknown = true
            }
        }
        attributes["user"] = .object(user)
        return attributes
    }
}

extension Condition {
    var needs: UserAttributes.Needs { .init(roles: testsRoles, profile: testsProfile) }
}

extension LiveSpace {
    /// The attributes that decide participation in running experiments.
    var needsOfExperiments: UserAttributes.Needs { derived(ExperimentNeeds.init).all }

    /// The attributes that decide the values of flags.
    var needsOfFlags: UserAttributes.Needs { needsOfRules | (flags == nil ? .init() : needsOfExperiments) }

    /// The attributes that decide the values of flags without experiments.
    var needsOfRules: UserAttributes.Needs {
        flags.map { .init(roles: $0.flags.testsRoles, profile: $0.flags.testsProfile) } ?? .init()
    }
}

private struct ExperimentNeeds: Sendable {
    let all: UserAttributes.Needs

    init(_ space: LiveSpace) {
        all = space.documents(of: .experiment).reduce(.init()) { needs, live in
            guard let document = (live.compiled as? CompiledExperiment)?.document, document.state == .running else {
                return needs
            }
            return needs | document.condition.needs
        }
    }
}
