import Logging
import MartletCore
import MartletFlags
import MartletHTTP

/// Lets conditions look at what other services know of a user, beside `user.id`: the roles in storage (`user.roles`),
/// and of auth `user.profile`, `user.emailVerified` and `user.anonymous`.
struct UserAttributes: Sendable {
    /// What somebody has to be asked for.
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

    /// The attributes with what is known of the user whom the gateway knows, whatever the caller said of them.
    ///
    /// Nobody is asked where nothing looks at it, or nobody is signed in. What cannot be asked for is marked as
    /// unknown, so that no condition on it holds.
    func adding(to attributes: FlagAttributes, of principal: Principal, _ needs: Needs) async -> FlagAttributes {
        guard needs != Needs(), let id = principal.userID else { return attributes }
        var attributes = attributes
        var user: [String: FlagValue] = ["id": .string(id)]
        // What an earlier look-up of this request found.
        if case .object(let known)? = attributes["user"], known["id"] == .string(id) { user = known }
        if needs.roles {
            do {
                user["roles"] = .array(try await roles.roles(of: principal).map { .string($0) })
            } catch {
                logger.debug("roles of a user not read", metadata: ["error.cause": "\(error)"])
                attributes.areRolesUnknown = true
            }
        }
        if needs.profile {
            do {
                let known = try await profiles.value(of: principal) ?? .object([])
                for name in FlagAttributes.ofAuth { user[name] = known[name].map { FlagValue($0) } ?? .null }
            } catch {
                logger.debug("profile of a user not read", metadata: ["error.cause": "\(error)"])
                attributes.isProfileUnknown = true
            }
        }
        attributes["user"] = .object(user)
        return attributes
    }
}

extension Condition {
    var needs: UserAttributes.Needs { .init(roles: asksForRoles, profile: asksForProfile) }
}

extension LiveSpace {
    /// What decides who takes part in an experiment that is running.
    var needsOfExperiments: UserAttributes.Needs { derived(ExperimentNeeds.init).all }

    /// What decides what flags answer.
    var needsOfFlags: UserAttributes.Needs { needsOfRules | (flags == nil ? .init() : needsOfExperiments) }

    /// The same without experiments.
    var needsOfRules: UserAttributes.Needs {
        flags.map { .init(roles: $0.flags.asksForRoles, profile: $0.flags.asksForProfile) } ?? .init()
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
