// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {AssayVerifier, Verdict} from "./AssayVerifier.sol";

/// @title A vault that accepts a deposit only with a valid verdict about its depositor.
/// @notice An example of a guard: copy `requireAccepted` into your contract. It fails closed: without a verdict there is no deposit.
contract GuardedVault {
    AssayVerifier public immutable verifier;
    /// The worst verdict that is accepted: SAFE (1) or WARNING (2).
    uint8 public immutable worstAccepted;
    /// The chain that the verdict must be about: this one.
    bytes32 public immutable chain;

    mapping(address depositor => uint256) public balanceOf;

    event Deposited(address indexed depositor, uint256 amount, bytes32 indexed receipt);
    event Withdrawn(address indexed depositor, uint256 amount);

    error NotAccepted(uint8 verdict, bool sanctioned);
    error WrongSubject(address subject, address depositor);
    error WrongChain(bytes32 chain);
    error WrongPolicy(uint8 worstAccepted);
    error TransferFailed();

    constructor(AssayVerifier verifier_, uint8 worstAccepted_) {
        if (worstAccepted_ != verifier_.SAFE() && worstAccepted_ != verifier_.WARNING()) {
            revert WrongPolicy(worstAccepted_);
        }
        verifier = verifier_;
        worstAccepted = worstAccepted_;
        chain = keccak256(abi.encodePacked("eip155:", decimal(block.chainid)));
    }

    /// @param verdict The verdict about the sender on this chain.
    /// @param signature The signature of Assay.
    function deposit(Verdict calldata verdict, bytes calldata signature) external payable {
        requireAccepted(verdict, signature, msg.sender);
        balanceOf[msg.sender] += msg.value;
        // The receipt leads an auditor to the evidence.
        emit Deposited(msg.sender, msg.value, verdict.receipt);
    }

    /// @notice Not guarded: funds that were accepted remain the depositor's.
    function withdraw(uint256 amount) external {
        balanceOf[msg.sender] -= amount;
        emit Withdrawn(msg.sender, amount);
        (bool sent,) = msg.sender.call{value: amount}("");
        if (!sent) revert TransferFailed();
    }

    function requireAccepted(Verdict calldata verdict, bytes calldata signature, address depositor) private view {
        if (verdict.subject != depositor) revert WrongSubject(verdict.subject, depositor);
        if (verdict.chain != chain) revert WrongChain(verdict.chain);
        if (verdict.sanctioned || verdict.verdict == 0 || verdict.verdict > worstAccepted) {
            revert NotAccepted(verdict.verdict, verdict.sanctioned);
        }
        verifier.check(verdict, signature);
    }

    function decimal(uint256 value) private pure returns (bytes memory text) {
        uint256 length = 1;
        for (uint256 rest = value / 10; rest > 0; rest /= 10) length++;
        text = new bytes(length);
        for (uint256 i = length; i > 0; i--) {
            text[i - 1] = bytes1(uint8(48 + value % 10));
            value /= 10;
        }
    }
}
