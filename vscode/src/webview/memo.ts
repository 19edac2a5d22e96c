import { Component, h, type ComponentChildren, type VNode } from "preact";

/** memo draws again only when a property has changed. */
export function memo<P extends object>(draw: (p: P) => ComponentChildren, same: (a: P, b: P) => boolean = shallow): (p: P) => VNode {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return !same(this.props, next);
    }
    override render(p: P): ComponentChildren {
      return h(draw as (p: P) => VNode, p);
    }
  }
  return ((p: P) => h(Memo, p as never)) as (p: P) => VNode;
}

function shallow(a: object, b: object): boolean {
  const [x, y] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return [...new Set([...Object.keys(x), ...Object.keys(y)])].every((k) => x[k] === y[k]);
}

export function sameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((x, i) => x === b[i]);
}
